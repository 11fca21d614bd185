package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseState(t *testing.T) {
	text := `# a comment
model_checkpoint_path: "dir/model.ckpt-\"2\303\251"; all_model_checkpoint_paths: 'it\'s'
unknown_field: 7, last_preserved_timestamp:1.5e9 all_model_checkpoint_timestamps: 12.25`
	got, err := parseState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &state{latest: `dir/model.ckpt-"2é`, all: []string{"it's"}, times: []float64{12.25}, lastPreserved: 1.5e9}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(state{})); d != "" {
		t.Fatal(d)
	}
	for _, bad := range []string{"", "model_checkpoint_path", "model_checkpoint_path:", `model_checkpoint_path: "x`,
		"model_checkpoint_path: \"x\ny\"", `model_checkpoint_path: "\q"`, `1x: 2`, `last_preserved_timestamp: abc`} {
		if _, err := parseState([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestStateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) string { return string(b) })
		want := &state{latest: path.Draw(t, "latest"), lastPreserved: rapid.Float64Range(0, 1e10).Draw(t, "preserved")}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			want.all = append(want.all, path.Draw(t, "path"))
			want.times = append(want.times, rapid.Float64Range(-1e10, 1e10).Draw(t, "time"))
		}
		got, err := parseState(want.format())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(state{})); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`model_checkpoint_path: "model.ckpt-1"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b)
		if err != nil {
			return
		}
		if _, err := parseState(s.format()); err != nil {
			t.Fatalf("%q is not readable again: %v", s.format(), err)
		}
	})
}
