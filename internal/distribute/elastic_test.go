package distribute

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/coordinator"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want []int64 // by worker
	}{
		{128, []int64{43, 43, 42}}, {127, []int64{43, 42, 42}}, {9, []int64{3, 3, 3}}, {2, []int64{1, 1, 0}}, {0, []int64{0, 0, 0}}, {128, []int64{128}},
	} {
		next := int64(0)
		for i, want := range c.want {
			first, end := Share{Index: i, Count: len(c.want)}.Rows(c.rows)
			if first != next || end-first != want {
				t.Errorf("%d rows: worker %d has %d to %d, expected %d from %d on", c.rows, i, first, end, want, next)
			}
			next = end
		}
		if next != c.rows {
			t.Errorf("%d of %d rows are taken", next, c.rows)
		}
	}
}

func TestNewest(t *testing.T) {
	for _, c := range []struct {
		all  []state
		want int
	}{
		{[]state{{0, -1}, {0, -1}}, 0},
		{[]state{{0, -1}, {3, 7}}, 1},
		{[]state{{3, 7}, {3, 8}, {3, 8}}, 1},
		{[]state{{3, 8}, {4, 8}}, 1}, // made the step again with others
		{[]state{{3, 9}, {4, 8}}, 0},
	} {
		if got := newest(c.all); got != c.want {
			t.Errorf("%v: %d, expected %d", c.all, got, c.want)
		}
	}
}

func TestTurnout(t *testing.T) {
	got := turnout([]coordinator.Candidate{
		{Rank: 0, Value: []byte(`{"generation":4,"former":[0,1,3]}`)},
		{Rank: 1, Value: []byte(`{"generation":3,"former":[0,1,2]}`)},
		{Rank: 2, Value: []byte(`{"generation":0}`)},
		{Rank: 3, Value: []byte(`not JSON`)},
	})
	if !slices.Equal(got.Came, []int{0, 1, 2, 3}) || !slices.Equal(got.Former, []int{0, 1, 3}) {
		t.Errorf("%+v", got)
	}
}
