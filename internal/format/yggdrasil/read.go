package yggdrasil

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Source says where to read a model from.
type Source struct {
	// Open opens a file of the model by name, without the prefix that files have if several models share a folder.
	Open func(name string) (io.ReadCloser, error)
	// Reserve is called before n more bytes of memory are taken; nil: no limit.
	Reserve func(n int) error
}

// The names of models.
const (
	randomForest = "RANDOM_FOREST"
	boostedTrees = "GRADIENT_BOOSTED_TREES"
)

// maxHeader is the most bytes of a file without nodes.
const maxHeader = 1 << 30

// Read reads a model.
func Read(from Source) (*Model, error) {
	r := &reader{Source: from, Model: &Model{Label: -1, Probabilities: true, WinnerTakeAll: true, TreesPerStep: 1}, format: "TFE_RECORDIO"}
	for _, step := range []func() error{r.abstract, r.dataSpec, r.check, r.header, r.checkBoosted, r.trees} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.Model, nil
}

// reader holds a model while it is read.
type reader struct {
	Source
	*Model
	kind   string
	shards int64 // number of files with nodes
	count  int64 // number of trees
	format string
	owed   int // bytes taken but not reserved yet
	inputs []bool
}

// take reserves n bytes; it combines small amounts.
func (r *reader) take(n int) error {
	if r.owed += n; r.owed < 1<<16 || r.Reserve == nil {
		return nil
	}
	err := r.Reserve(r.owed)
	r.owed = 0
	return err
}

// message reads a file that is one message.
func (r *reader) message(name string, f func(field) error) error {
	file, err := r.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	var data []byte
	step := make([]byte, 1<<15)
	for {
		n, err := file.Read(step)
		if err := r.take(n); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if data = append(data, step[:n]...); len(data) > maxHeader {
			return fmt.Errorf("%s: more than %d bytes", name, maxHeader)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := eachField(data, f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// abstract reads the header that all models have.
func (r *reader) abstract() error {
	return r.message("header.pb", func(v field) (err error) {
		switch v.number {
		case 1:
			r.kind = string(v.data)
		case 2:
			r.Task = Task(v.int())
		case 3:
			r.Label = int(v.int())
		case 5:
			err = v.numbers(protowire.VarintType, func(one field) { r.Inputs = append(r.Inputs, int(one.int())) })
		case 8:
			r.Probabilities = v.bool()
		}
		return errors.Join(err, r.take(16))
	})
}

// check validates what was read so far.
func (r *reader) check() error {
	if r.kind != randomForest && r.kind != boostedTrees {
		return fmt.Errorf("model of kind %q is not supported: expected %s or %s", r.kind, randomForest, boostedTrees)
	}
	r.Boosted = r.kind == boostedTrees
	if err := within("label: column", int64(r.Label), len(r.Columns)); err != nil {
		return err
	}
	r.inputs = make([]bool, len(r.Columns))
	for _, i := range r.Inputs {
		if err := within("feature: column", int64(i), len(r.Columns)); err != nil {
			return err
		}
		if r.inputs[i] {
			return fmt.Errorf("column %q is twice a feature", r.Columns[i].Name)
		}
		r.inputs[i] = true
		switch r.Columns[i].Kind {
		case Numerical, Categorical, Set, Boolean, Discretized:
		default:
			return fmt.Errorf("feature %q of kind %d is not supported", r.Columns[i].Name, r.Columns[i].Kind)
		}
	}
	categories := r.Columns[r.Label].Kind == Categorical
	switch r.Task {
	case Classification, CategoricalUplift:
		if least := 2; !categories || r.Columns[r.Label].Categories < least {
			return fmt.Errorf("label %q: expected categories", r.Columns[r.Label].Name)
		}
	case Regression, Ranking, NumericalUplift:
		if categories {
			return fmt.Errorf("label %q: expected a number, got categories", r.Columns[r.Label].Name)
		}
	default:
		return fmt.Errorf("task %d is not supported", r.Task)
	}
	if r.Boosted && r.Task > Ranking || !r.Boosted && r.Task == Ranking {
		return fmt.Errorf("task %d of a model of kind %s is not supported", r.Task, r.kind)
	}
	return nil
}

// header reads the header for the kind of model.
func (r *reader) header() error {
	name := "random_forest_header.pb"
	if r.Boosted {
		name = "gradient_boosted_trees_header.pb"
	}
	return r.message(name, func(v field) (err error) {
		switch {
		case v.number == 1:
			r.shards = v.int()
		case v.number == 2:
			r.count = v.int()
		case v.number == 7:
			r.format = string(v.data)
		case !r.Boosted && v.number == 3:
			r.WinnerTakeAll = v.bool()
		case !r.Boosted:
		case v.number == 3:
			r.Loss = Loss(v.int())
		case v.number == 4:
			r.Initial, err = v.floats(r.Initial)
		case v.number == 5:
			r.TreesPerStep = int(v.int())
		case v.number == 9:
			r.Logits = v.bool()
		}
		return err
	})
}

// checkBoosted checks that loss and task of gradient boosted trees fit.
func (r *reader) checkBoosted() error {
	if !r.Boosted {
		return nil
	}
	fits := map[Task][]Loss{
		Classification: {BinomialLogLikelihood, BinaryFocal, MultinomialLogLikelihood},
		Regression:     {SquaredError, MeanAbsoluteError, Poisson},
		Ranking:        {LambdaMART, CrossEntropyNDCG, SquaredError, MeanAbsoluteError},
	}
	classes := r.Columns[r.Label].Categories - 1
	switch {
	case !slices.Contains(fits[r.Task], r.Loss):
		return fmt.Errorf("loss %d of task %d is not supported", r.Loss, r.Task)
	case r.Loss == MultinomialLogLikelihood && r.TreesPerStep != classes:
		return fmt.Errorf("%d trees for each step of training: expected one for each of %d classes", r.TreesPerStep, classes)
	case r.Loss != MultinomialLogLikelihood && r.Task == Classification && classes != 2:
		return fmt.Errorf("loss %d of %d classes: expected two", r.Loss, classes)
	case r.Loss != MultinomialLogLikelihood && len(r.Initial) == 0:
		return errors.New("no initial prediction")
	}
	return nil
}

// trees reads the nodes.
func (r *reader) trees() error {
	if r.format != "BLOB_SEQUENCE" && r.format != "BLOB_SEQUENCE_GZIP" {
		return fmt.Errorf("nodes in the format %q are not supported: expected BLOB_SEQUENCE", r.format)
	}
	if r.shards < 0 || r.shards > math.MaxInt32 || r.count < 0 || r.count > math.MaxInt32 {
		return fmt.Errorf("%d trees in %d files", r.count, r.shards)
	}
	t := &treeReader{reader: r}
	for i := range r.shards {
		if err := t.file(fmt.Sprintf("nodes-%05d-of-%05d", i, r.shards)); err != nil {
			return err
		}
	}
	if !t.between() || int64(len(r.Roots)) != r.count {
		return fmt.Errorf("the nodes end within tree %d of %d", len(r.Roots), r.count)
	}
	return nil
}
