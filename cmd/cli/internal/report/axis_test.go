package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

func scalars(values ...float64) events.Tag {
	t := events.Tag{Kind: events.Scalar}
	for i, x := range values {
		t.Points = append(t.Points, events.Point{Step: int64(i), Scalar: x})
	}
	return t
}

// A loss that spans decades has a logarithmic axis, whose name says that only positive values are drawn.
func TestLossAxis(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		tags []events.Tag
		want string // name of the axis; empty: linear
	}{
		{"two decades", []events.Tag{scalars(5, 0.5, 0.05)}, "logarithmic: positive values only"},
		{"a little less", []events.Tag{scalars(5, 0.5, 0.0501)}, ""},
		{"over two runs", []events.Tag{scalars(5, 4), scalars(0.05)}, "logarithmic: positive values only"},
		{"zeros", []events.Tag{scalars(5, 0, 0.05, math.Copysign(0, -1))}, "logarithmic: positive only, zeros left out: 2"},
		{"negative", []events.Tag{scalars(5, 0.05), scalars(-1e-9)}, ""},
		{"not finite", []events.Tag{scalars(nan, 5, inf, 0.05, -inf)}, "logarithmic: positive values only"},
		{"nothing finite", []events.Tag{scalars(nan, inf)}, ""},
		{"zeros alone", []events.Tag{scalars(0, 0)}, ""},
		{"a zero and one value", []events.Tag{scalars(0, 3)}, ""},
		{"the ends of what there is", []events.Tag{scalars(math.SmallestNonzeroFloat64, math.MaxFloat64)}, "logarithmic: positive values only"},
		{"no points", []events.Tag{scalars()}, ""},
	} {
		y, logarithmic := lossAxis(c.tags)
		if y.Name != c.want || logarithmic != (c.want != "") || (y.Type == "log") != logarithmic {
			t.Errorf("%s: got the axis %q of type %s, expected %q", c.name, y.Name, y.Type, c.want)
		}
	}
}

func TestIsLoss(t *testing.T) {
	for tag, want := range map[string]bool{"loss": true, "average_loss": true, "Loss/train": true, "head1/loss_1": true,
		"accuracy": false, "loss_scale": false, "glossy": false, "learning_rate": false, "": false} {
		if isLoss(tag) != want {
			t.Errorf("%q: got %t", tag, !want)
		}
	}
}

// On a logarithmic axis zeros leave gaps, like values that are not finite; on a linear axis they are points.
func TestScalarChart(t *testing.T) {
	draw := func(name string, values ...float64) (axis, points string) {
		c, err := scalarChart("x", tagged{name: name, runs: []string{"train"}, tags: []events.Tag{scalars(values...)}})
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			YAxis  []struct{ Type string }
			Series []struct {
				Data []struct{ Value json.RawMessage }
			}
		}
		if err := json.Unmarshal(c.Options.(json.RawMessage), &o); err != nil {
			t.Fatal(err)
		}
		for _, p := range o.Series[0].Data {
			points += string(p.Value)
		}
		return o.YAxis[0].Type, points
	}
	for _, c := range []struct {
		tag    string
		values []float64
		want   string
	}{
		{"loss", []float64{100, 0, math.NaN(), 1}, `log [0,100][1,"-"][2,"-"][3,1]`},
		{"loss", []float64{100, 0, -1, 1}, `value [0,100][1,0][2,-1][3,1]`},
		{"accuracy", []float64{0.001, 0, 1}, `value [0,0.001][1,0][2,1]`},
	} {
		axis, points := draw(c.tag, c.values...)
		if got := axis + " " + strings.TrimSpace(points); got != c.want {
			t.Errorf("%s of %v: got %s, expected %s", c.tag, c.values, got, c.want)
		}
	}
}
