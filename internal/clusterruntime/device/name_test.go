package device

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{text: "", want: ""},
		{text: "/job:ps/replica:0/task:1/device:CPU:0", want: "/job:ps/replica:0/task:1/device:CPU:0"},
		{text: "/task:1/job:ps", want: "/job:ps/task:1"},
		{text: "/cpu:0", want: "/device:CPU:0"},
		{text: "/GPU:1", want: "/device:GPU:1"},
		{text: "/device:gpu:*", want: "/device:GPU:*"},
		{text: "/job:worker/task:*", want: "/job:worker"},
		{text: "/job:a/job:b", want: "/job:b"},
		{text: "job:ps", err: "begin with a slash"},
		{text: "/jobs:ps", err: `unknown attribute: "jobs"`},
		{text: "/job:", err: "expected letters"},
		{text: "/job:a-b", err: "expected letters"},
		{text: "/task:-1", err: "expected a number"},
		{text: "/task:99999999999", err: "expected a number"},
		{text: "/cpu:0/gpu:0", err: "multiple device types"},
		{text: "/", err: "unknown attribute"},
	} {
		n, err := Parse(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Parse(%q): expected an error with %q, got %v", c.text, c.err, err)
			}
			continue
		}
		if err != nil || n.String() != c.want {
			t.Errorf("Parse(%q) = %q, %v; expected %q", c.text, n, err, c.want)
		}
	}
}

// names draws a name, whole or in part.
func names(t *rapid.T) Name {
	n := Name{
		Job:     rapid.SampledFrom([]string{"", "ps", "worker"}).Draw(t, "job"),
		Replica: rapid.IntRange(Any, 1).Draw(t, "replica"),
		Task:    rapid.IntRange(Any, 2).Draw(t, "task"),
		Type:    rapid.SampledFrom([]string{"", "CPU", "GPU"}).Draw(t, "type"),
		ID:      Any,
	}
	if n.Type != "" {
		n.ID = rapid.IntRange(Any, 2).Draw(t, "id")
	}
	return n
}

func TestNamesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := names(t)
		got, err := Parse(n.String())
		if err != nil || got != n {
			t.Fatalf("Parse(%q) = %+v, %v; expected %+v", n, got, err, n)
		}
	})
}

func TestTheInnerScopeWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner, outer := names(t), names(t)
		merged := inner.Merge(outer)
		if !inner.Matches(merged) {
			t.Fatalf("%q inside %q is %q", inner, outer, merged)
		}
		if merged.Merge(outer) != merged || inner.Merge(inner) != inner {
			t.Fatalf("merging %q twice differs", merged)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("/job:ps/replica:0/task:1/device:CPU:0")
	f.Add("/cpu:0")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(n.String()); err != nil || again != n {
			t.Errorf("%q is %+v, which is written %q and read %+v, %v", text, n, n, again, err)
		}
	})
}
