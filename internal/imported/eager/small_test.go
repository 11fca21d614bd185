package eager

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// TestSmallElements: the elements of lists and stacks are paid for even if each is small.
func TestSmallElements(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 20, Request: 1 << 20})
	defer memory.Close()
	account := memory.OpenLasting()
	one := tensor.Scalar(float32(1))
	c := call{env: &Env{Payer: Payer{Account: account, Lasting: true}}, in: []Value{{}, {T: one}}, out: make([]Value, 1)}
	const most = 1 << 14 // far more than fit
	k := &stack{dtype: tensor.Float32, most: -1}
	var err error
	for n := 0; n < most && err == nil; n++ {
		err = pushStack(k, c)
	}
	if err == nil {
		t.Errorf("a stack of %d elements was paid for with %d bytes", most, account.Held())
	}
	k.elements = nil
	l, err := newList(c, tensor.Float32, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < most && err == nil; n++ {
		var next *tensorList
		if next, err = l.with(c, l.n, Value{T: one}); err == nil {
			l = next
		}
	}
	if err == nil || l.n == 0 {
		t.Errorf("a list of %d elements was paid for with %d bytes", l.n, account.Held())
	}
}

// TestGroupsRepeated: a replacement that repeats a long group is paid for before it is made.
func TestGroupsRepeated(t *testing.T) {
	r, err := newRewrite("(.*)", strings.Repeat(`\1`, 1<<15), true)
	if err != nil {
		t.Fatal(err)
	}
	room := call{env: &Env{}}.textRoom()
	if out, err := r.apply(t.Context(), bytes.Repeat([]byte("a"), 1<<20), &room); err == nil {
		t.Errorf("%d bytes were made", len(out))
	}
}
