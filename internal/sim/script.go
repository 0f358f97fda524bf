package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// script is a run that can be repeated: a seed, options, and the faults that
// strike. Without a list all faults strike that the seed has.
type script struct {
	seed uint64
	opt  Options
	only bool
	kept []uint64 // sorted
}

// play runs the script on s and returns the invariant that was broken.
func (sc *script) play(s *sim) string {
	s.run(sc.seed, sc.opt, sc.kept, sc.only)
	return s.broken
}

// String writes the script as one line, for -sim.replay.
func (sc *script) String() string {
	words := []string{fmt.Sprintf("seed=%d", sc.seed), sc.opt.String()}
	if sc.only {
		var kept []string
		for _, key := range sc.kept {
			kept = append(kept, fmt.Sprintf("%s/%d/%d", domain(key>>40), key>>32&0xff, uint32(key)))
		}
		words = append(words, "keep="+strings.Join(kept, ","))
	}
	return strings.Join(words, " ")
}

// parseScript reads what String wrote.
func parseScript(line string) (script, error) {
	var sc script
	byName := map[string]field{}
	for _, f := range fields() {
		byName[f.name] = f
	}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		switch f, ok := byName[name]; {
		case name == "seed":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return sc, err
			}
			sc.seed = n
		case name == "keep":
			kept, err := parseKept(value)
			if err != nil {
				return sc, err
			}
			sc.only, sc.kept = true, kept
		case ok:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return sc, err
			}
			f.set(&sc.opt, n)
		default:
			return sc, errors.New("sim: no option " + name)
		}
	}
	return sc, nil
}

func parseKept(value string) ([]uint64, error) {
	var kept []uint64
	for _, word := range strings.Split(value, ",") {
		if word == "" {
			continue
		}
		parts := strings.Split(word, "/")
		d := slices.Index(domainNames[:], parts[0])
		if d < 0 || len(parts) != 3 {
			return nil, errors.New("sim: no fault " + word)
		}
		entity, err := strconv.ParseUint(parts[1], 10, 8)
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(parts[2], 10, 32)
		if err != nil {
			return nil, err
		}
		kept = append(kept, faultKey(domain(d), int(entity), uint32(n)))
	}
	slices.Sort(kept)
	return kept, nil
}
