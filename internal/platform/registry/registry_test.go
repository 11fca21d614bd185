package registry

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestRegistry(t *testing.T) {
	start := map[string]int{"b": 2}
	r := New("number", start)
	if err := r.Register("a", 1); err != nil {
		t.Fatal(err)
	}
	if len(start) != 1 {
		t.Error("the caller's map changed")
	}
	if v, err := r.Lookup("a"); v != 1 || err != nil || !r.Has("b") || r.Has("c") || !slices.Equal(r.Names(), []string{"a", "b"}) {
		t.Errorf("got %d, %v, names %v", v, err, r.Names())
	}
	for _, c := range []struct {
		err, kind error
		want      string
	}{
		{r.Register("b", 3), ErrDuplicate, `number "b" is registered already: choose another name`},
		{func() error { _, err := r.Lookup("c"); return err }(), ErrUnknown, `unknown number "c": expected one of a, b`},
	} {
		if c.err == nil || c.err.Error() != c.want || !errors.Is(c.err, c.kind) {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
	if v, _ := r.Lookup("b"); v != 2 {
		t.Errorf("b was replaced by %d", v)
	}
	if New[int]("number", nil).Register("", 1) == nil {
		t.Error("an empty name was taken")
	}
}

func Example() {
	r := New("rule", map[string]float64{"sgd": 0.01})
	_ = r.Register("adam", 0.001)
	fmt.Println(r.Names())
	_, err := r.Lookup("adm")
	fmt.Println(err)
	// Output:
	// [adam sgd]
	// unknown rule "adm": expected one of adam, sgd
}
