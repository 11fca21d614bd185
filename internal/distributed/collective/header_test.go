package collective

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add((&header{kind: hello, group: 1 << 63, generation: 5, rank: 3, text: []byte("workers")}).append(nil))
	f.Add((&header{kind: data, call: 9, layout: 77, index: 1 << 40}).append(nil))
	f.Add((&header{kind: farewell, text: []byte("why"), mismatch: true}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err != nil {
			return
		}
		again, err := parseHeader(h.append(nil))
		if err != nil {
			t.Fatalf("%+v: %v", h, err)
		}
		if len(h.text) == 0 {
			h.text = nil
		}
		if d := cmp.Diff(h, again, cmp.AllowUnexported(header{})); d != "" {
			t.Errorf("header (-first +again):\n%s", d)
		}
	})
}
