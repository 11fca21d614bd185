package distribute

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// tables builds a program of tables that are read by rows.
type tables struct {
	*graph.Builder
	ids, axis graph.Output
	program   TrainProgram
}

var tableType = graph.Type{DType: tensor.Float64, Shape: graph.ShapeOf(200, 4)}

func newTables() *tables {
	b := graph.NewBuilder(graph.New())
	return &tables{Builder: b, ids: b.Placeholder("ids", graph.Type{DType: tensor.Int64, Shape: graph.BatchOf()}), axis: b.Scalar("axis", tensor.Int32, 0),
		program: TrainProgram{Train: &optimizers.TrainOp{Groups: make([]optimizers.Group, 1)}}}
}

// table adds a variable with a sparse gradient, or a dense one, and returns its value.
func (b *tables) table(name string, sparse bool) graph.Output {
	table := b.Read(b.Variable(name, tableType), tableType)
	g := &b.program.Train.Groups[0]
	g.Variables = append(g.Variables, &models.Variable{Name: name, DType: tensor.Float64, Shape: tableType.Shape.At(0), Trainable: true})
	gradient := lower.Value{Output: table}
	if sparse {
		gradient = lower.SparseValue(tableType.Shape, lower.Slices{Rows: table, Indices: b.ids})
	}
	b.program.Gradients = append(b.program.Gradients, gradient)
	return table
}

// gather reads rows, and fetches a result computed from them.
func (b *tables) gather(name string, table, ids, axis graph.Output) graph.Output {
	picked := b.Op("GatherV2", name, graph.Type{DType: tensor.Float64, Shape: graph.BatchOf(4)},
		graph.Attrs{"Tparams": tensor.Float64, "Tindices": tensor.Int64, "Taxis": tensor.Int32, "batch_dims": int64(0)}, table, ids, axis)
	return b.norm(name+"/norm", picked)
}

// norm reads all of x.
func (b *tables) norm(name string, x graph.Output) graph.Output {
	return b.Op("L2Loss", name, graph.Type{DType: tensor.Float64}, graph.Attrs{"T": tensor.Float64}, x)
}

// TestFindLookups: tables with a sparse gradient are looked up if only rows are read, in the order of the gathers' names.
func TestFindLookups(t *testing.T) {
	b := newTables()
	var fetches []graph.Output
	for i := range 8 {
		table := b.table(fmt.Sprintf("table%d", i), true)
		for _, name := range []string{"first", "again"} {
			fetches = append(fetches, b.gather(fmt.Sprintf("%s%d", name, 7-i), table, b.ids, b.axis))
		}
	}
	small := b.table("small", true)
	vs := b.program.Train.Groups[0].Variables
	vs[len(vs)-1].Shape = []int{4, 4}
	fetches = append(fetches, b.gather("s", small, b.ids, b.axis))
	dense := b.table("dense", false)
	fetches = append(fetches, b.gather("a", dense, b.ids, b.axis))
	whole := b.table("whole", true)
	fetches = append(fetches, b.gather("b", whole, b.ids, b.axis), b.norm("whole/norm", whole))
	fetched := b.table("fetched", true)
	fetches = append(fetches, b.gather("c", fetched, b.ids, b.axis), fetched)
	columns := b.table("columns", true)
	fetches = append(fetches, b.gather("d", columns, b.ids, b.Scalar("other_axis", tensor.Int32, 1)))
	other := b.table("other", true)
	learnt := b.Op("ArgMax", "learnt", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(4)},
		graph.Attrs{"T": tensor.Float64, "Tidx": tensor.Int32, "output_type": tensor.Int64}, b.Read(b.Variable("seen", tableType), tableType), b.axis)
	fetches = append(fetches, b.gather("e", other, learnt, b.axis))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, x := range findLookups(b.program, fetches) {
		got = append(got, x.rows.Node.Name+" of "+x.variable)
	}
	for _, name := range []string{"again", "first"} {
		for i := range 8 {
			want = append(want, fmt.Sprintf("%s%d of table%d", name, i, 7-i))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}
