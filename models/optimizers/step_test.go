package optimizers

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// wrong is a step function that fails as its configuration says.
type wrong struct{ how string }

func init() {
	RegisterStepFunction("wrong", func(config []byte) (StepFunction, error) {
		switch string(config) {
		case "make":
			return nil, errors.New("as asked")
		case "nothing":
			return nil, nil
		}
		return wrong{string(config)}, nil
	})
}

func (f wrong) Begin(StepVariables) (int, int64, error) {
	if f.how == "length" {
		return -1, 0, nil
	}
	return 2, 3, nil
}

func (f wrong) Collect(vars StepVariables, _ []*tensor.Tensor, t *Tally) error {
	switch f.how {
	case "panic":
		panic("as asked")
	case "grow":
		t.Sums = append(t.Sums, 1)
	case "stamp":
		t.Stamp++
	case "change":
		vars.Change("v")
	case "none":
		if vars.Value("w") != nil || vars.Change("w") != nil || vars.ChangeRow("w", 0) != nil {
			return errors.New("there is no w")
		}
	}
	return nil
}

func (f wrong) Apply(vars StepVariables, _ *Tally) error {
	switch f.how {
	case "row":
		vars.ChangeRow("v", 1)
	case "no row":
		vars.ChangeRow("v", 2)
	default:
		vars.Change("v")
	}
	return nil
}

// TestWrongStepFunctions: the mistakes of a step function are errors that name it.
func TestWrongStepFunctions(t *testing.T) {
	for how, want := range map[string]string{
		"make": "as asked", "nothing": "made no function", "length": "-1 sums", "panic": "collect: panic: as asked",
		"grow": "3 sums with stamp 3 now", "stamp": "with stamp 4 now", "change": "variable v is changed outside Apply", "none": "", "": "",
		"row": "", "no row": "apply: panic: row 2 of variable v, which has the shape [2], is changed",
	} {
		err := func() error {
			r, err := NewStepRun("wrong", []byte(how))
			if err != nil {
				return err
			}
			v := NewStepValues(map[string]*tensor.Tensor{"v": &tensor.Tensor{DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 8)}})
			tally := &Tally{Sums: []float64{1, 2, 3}, Records: []byte("old")}
			if err := r.Begin(v, tally); err != nil {
				return err
			}
			if len(tally.Sums) != 2 || tally.Sums[0] != 0 || tally.Stamp != 3 || len(tally.Records) != 0 {
				t.Errorf("a new tally is %+v", tally)
			}
			if err := r.Collect(v, nil, tally); err != nil {
				return err
			}
			if fits, err := r.Fits(v, &Tally{Stamp: 2}); fits || err != nil {
				t.Errorf("a tally of another stamp fits: %v, %v", fits, err)
			}
			if _, err := r.Fits(v, &Tally{Stamp: 3}); err == nil {
				t.Error("a tally of another length fits")
			}
			if fits, err := r.Fits(v, tally); !fits || err != nil {
				t.Errorf("a tally does not fit: %v, %v", fits, err)
			}
			err = r.Apply(v, tally)
			if c := v.Changed(); how == "no row" && len(c) > 0 || how != "no row" && (len(c) != 1 || c[0] != "v") {
				t.Errorf("%v changed, expected v", c)
			}
			return err
		}()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `step function "wrong"`)) {
			t.Errorf("%q: got %v, expected %s", how, err, want)
		}
	}
}

// TestCheckTrainOp: a TrainOp has groups or a step function that can run.
func TestCheckTrainOp(t *testing.T) {
	v := []*models.Variable{{Name: "v", DType: tensor.Float64, Shape: []int{2}, Trainable: true}}
	for want, op := range map[string]*TrainOp{
		"expected groups of variables, or a step":      {},
		"beside 1 groups":                              {Groups: []Group{{}}, Step: &StepOp{Function: "wrong", Variables: v}},
		"expected no transforms":                       {Step: &StepOp{Function: "wrong", Variables: v}, LossScale: DynamicLossScale()},
		"expected variables that it changes":           {Step: &StepOp{Function: "wrong"}},
		"argument 0 is nil":                            {Step: &StepOp{Function: "wrong", Variables: v, Args: make([]*G.Node, 1)}},
		"variable 1 is nil or there twice":             {Step: &StepOp{Function: "wrong", Variables: append(v, v...)}},
		`step function "none" is not registered in th`: {Step: &StepOp{Function: "none", Variables: v}},
		`"wrong": configuration: as asked`:             {Step: &StepOp{Function: "wrong", Config: []byte("make"), Variables: v}},
	} {
		if err := op.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
	if err := (&TrainOp{Step: &StepOp{Function: "wrong", Variables: v}}).Check(); err != nil {
		t.Error(err)
	}
	a, b := &Tally{Stamp: 1, Sums: []float64{1}, Records: []byte("a")}, &Tally{Stamp: 1, Sums: []float64{2}, Records: []byte("b")}
	if err := a.Add(b); err != nil || a.Sums[0] != 3 || string(a.Records) != "ab" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := a.Add(&Tally{Stamp: 2, Sums: []float64{1}}); err == nil {
		t.Error("tallies of different stamps were added")
	}
}
