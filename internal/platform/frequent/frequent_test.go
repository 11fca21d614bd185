package frequent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/frequent"
)

func ExampleCounter() {
	c := frequent.New[string](100)
	for _, v := range []string{"b", "a", "b", "c", "a", "b"} {
		c.Add(v)
	}
	fmt.Println(c.Top(2), c.Len(), c.Exact())
	// Output: [{b 3} {a 2}] 3 true
}

// TestBounds: a value with more than 1/limit of the stream is never lost, its count is too low by at
// most the number of values over the limit, and memory stays within the limit.
func TestBounds(t *testing.T) {
	const limit, n = 50, 20_000
	c := frequent.New[int](limit)
	for i := range n {
		if i%5 == 0 {
			c.Add(-1)
		} else {
			c.Add(i)
		}
		if c.Len() > limit {
			t.Fatalf("%d values are counted, expected at most %d", c.Len(), limit)
		}
	}
	got := c.Top(1)[0]
	if got.Value != -1 || got.Count < n/5-n/limit || got.Count > n/5 {
		t.Errorf("got %+v, expected -1 with a count from %d to %d", got, n/5-n/limit, n/5)
	}
	if c.Exact() {
		t.Error("values were dropped: the counts are not exact")
	}
}

func TestTies(t *testing.T) {
	c := frequent.New[string](10)
	for _, v := range []string{"z", "a", "m"} {
		c.Add(v)
	}
	if got := fmt.Sprint(c.Top(-1)); got != "[{a 1} {m 1} {z 1}]" {
		t.Errorf("got %s", got)
	}
	if c.Count("m") != 1 || c.Count("x") != 0 {
		t.Error("counts are wrong")
	}
}

// TestBytes: long values stay within the memory limit, and frequent ones are kept.
func TestBytes(t *testing.T) {
	c := frequent.NewOfBytes(1000, 100, func(s string) int { return len(s) })
	for i := range 300 {
		c.Add("often")
		c.Add(fmt.Sprintf("%20d", i))
		sum := 0
		for _, e := range c.Top(-1) {
			sum += len(e.Value)
		}
		if sum > 100 {
			t.Fatalf("%d bytes are kept, expected at most 100", sum)
		}
	}
	before := c.Count("often")
	c.Add(strings.Repeat("x", 101))
	if c.Exact() || before < 200 || c.Count("often") != before {
		t.Errorf("exact %t, counts %d and %d of 300", c.Exact(), before, c.Count("often"))
	}
}
