package config

import "strings"

// nearest returns the settable property whose name is most like an unknown one,
// or nothing if none is alike. Other separators and upper case do not count as a
// difference, so names of environment variables are understood.
func nearest(unknown string) string {
	name := strings.NewReplacer("_", ".", "-", ".").Replace(strings.ToLower(strings.TrimSpace(unknown)))
	best, bestDistance := "", 0
	for _, p := range table {
		if _, unsettable := p.kind.(fixed); unsettable || !similarLength(name, p.name) {
			continue
		}
		d := editDistance(name, p.name)
		if alike := 5*d <= 2*max(len(name), len(p.name)); alike && (best == "" || d < bestDistance) {
			best, bestDistance = p.name, d
		}
	}
	return best
}

// similarLength spares the work for names of too different lengths: they cannot be
// alike, and a name from a file can be of any length.
func similarLength(a, b string) bool {
	short, long := min(len(a), len(b)), max(len(a), len(b))
	return 5*(long-short) <= 2*long
}

// editDistance counts the bytes to insert, remove or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
