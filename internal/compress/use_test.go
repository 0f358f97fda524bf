package compress_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// encoding is all that this package may use of the codecs' libraries. None of it
// reaches a decompressor, so that the linker leaves them out.
var encoding = []string{
	"gzip.NewWriter",
	"s2.EncodeSnappy", "s2.MaxEncodedLen",
	"lz4.NewWriter", "lz4.BlockSizeOption", "lz4.Block64Kb", "lz4.ChecksumOption", "lz4.ConcurrencyOption",
	"zstd.NewWriter", "zstd.Encoder", "zstd.WithWindowSize", "zstd.WithEncoderConcurrency", "zstd.WithEncoderCRC",
}

func TestNoDecompressor(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains([]string{"gzip", "s2", "lz4", "zstd"}, pkg.Name) {
				return true
			}
			seen++
			if name := pkg.Name + "." + sel.Sel.Name; !slices.Contains(encoding, name) {
				t.Errorf("%s uses %s", f.Name(), name)
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no use of a library was found")
	}
}
