package retry

import "testing"

// BenchmarkClassify is the judgement of one answer: the code of a success, of
// one that is sent again, of a refusal, and of a number without a name.
func BenchmarkClassify(b *testing.B) {
	for _, bc := range []struct {
		name string
		code Code
	}{
		{"success", None}, {"again", NotLeaderOrFollower}, {"refused", MessageTooLarge}, {"nameless", 12345},
	} {
		b.Run("code="+bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Classify(bc.code, -1)
			}
		})
	}
}
