package distribute

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/runconfig"
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
	got := turnout([]keyvalue.Candidate{
		{Rank: 0, Value: []byte(`{"generation":4,"former":[0,1,3]}`)},
		{Rank: 1, Value: []byte(`{"generation":3,"former":[0,1,2]}`)},
		{Rank: 2, Value: []byte(`{"generation":0}`)},
		{Rank: 3, Value: []byte(`not JSON`)},
	})
	if !slices.Equal(got.Came, []int{0, 1, 2, 3}) || !slices.Equal(got.Former, []int{0, 1, 3}) {
		t.Errorf("%+v", got)
	}
}

// TestElasticBatchIsCompared: workers that divide batches differently would read other rows, and so differ. They
// may have different limits. Jobs that are not elastic compare no elastic settings.
func TestElasticBatchIsCompared(t *testing.T) {
	of := func(e runconfig.Elastic) string {
		var out strings.Builder
		describeStrategy(Config{Strategy: runconfig.Strategy{Name: "multi_worker_mirrored", Elastic: e}}, func(name string, value any) { fmt.Fprintln(&out, name, value) })
		return out.String()
	}
	global := of(runconfig.Elastic{Min: 1})
	if got := of(runconfig.Elastic{Min: 2, Max: 4, Batch: runconfig.GlobalBatch}); got != global {
		t.Errorf("%s, expected %s", got, global)
	}
	if of(runconfig.Elastic{Min: 1, Batch: runconfig.PerWorkerBatch}) == global {
		t.Error("the ways to divide batches are not compared")
	}
	if of(runconfig.Elastic{Min: 1, Batch: runconfig.PerWorkerBatch}) == of(runconfig.Elastic{Min: 1, Batch: runconfig.PerWorkerBatch, ScaleLR: runconfig.ScaleLinear}) {
		t.Error("the ways to scale the learning rate are not compared")
	}
	if got := of(runconfig.Elastic{}); strings.Contains(got, "elastic") {
		t.Errorf("compared without strategy.elastic: %s", got)
	}
}

// TestSettingsOfTheJob: the settings of workers that have trained count, not those of a first worker that comes back.
func TestSettingsOfTheJob(t *testing.T) {
	for _, c := range []struct {
		generations []int64 // by rank
		want        int
	}{
		{[]int64{0, 0, 0}, 0}, {[]int64{0, 3, 3}, 1}, {[]int64{2, 3, 0}, 1}, {[]int64{3, 3}, 0}, {[]int64{0}, 0},
	} {
		var all []proposal
		for _, g := range c.generations {
			all = append(all, proposal{Generation: g})
		}
		if got := settledBy(all); got != c.want {
			t.Errorf("%v: worker %d, expected %d", c.generations, got, c.want)
		}
	}
}
