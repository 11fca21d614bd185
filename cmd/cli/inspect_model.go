package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/spf13/cobra"
)

func (a *app) inspectModelCommand() *cobra.Command {
	var f configFlags
	var mode string
	var text, weights bool
	cmd := &cobra.Command{
		Use:   "model --config FILE",
		Short: "show the graph that a config describes",
		Long: `Builds and compiles the graph of each mode (train, eval, infer) for the inputs of
the config and shows inputs, variables, outputs and how often each op occurs, and
the feature columns of a canned model. No checkpoint is read or written. With
--graph, the graph itself is printed as a GraphDef in text form. With --weights,
what the newest checkpoint has learnt of the columns is shown: the weights of a
linear model (or of the linear part of one) by the values of its columns, those
that are zero left out; the importances of the columns of boosted trees.`,
		Example: `  goestimator inspect model --config configs/glyphs.yaml
  goestimator inspect model --config configs/glyphs.yaml --mode infer --graph > graph.pbtxt
  goestimator inspect model --config configs/adult_wide_deep.yaml --weights`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			if weights {
				return a.printWeights(cmd.Context(), cfg, f.json)
			}
			j, err := a.looseJob(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer j.est.Close()
			ds, err := j.describe(cmd.Context(), mode)
			if err != nil {
				return err
			}
			if text {
				return a.printGraph(ds[0])
			}
			columns, err := columnInfos(j.fn)
			if err != nil {
				return err
			}
			return a.printModel(ds, columns, f.json)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&mode, "mode", "", "only this mode: train, eval or infer")
	cmd.Flags().BoolVar(&text, "graph", false, "print the GraphDef of --mode (default: train) as text")
	cmd.Flags().BoolVar(&weights, "weights", false, "print the linear weights, or importances, of the newest checkpoint")
	completeValues(cmd, "mode", "train", "eval", "infer")
	return cmd
}

// describe compiles the modes that have an input, or the one mode given.
func (j *job) describe(ctx context.Context, mode string) ([]*estimator.Description, error) {
	sections := j.sections()
	var out []*estimator.Description
	for _, s := range sections {
		if mode != "" && mode != string(s.mode) || mode == "" && s.in.Format == "" {
			continue
		}
		input, err := j.input(s.in, s.name)
		if err != nil {
			return nil, err
		}
		d, err := j.est.Describe(ctx, s.mode, input)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	switch {
	case len(out) == 0 && mode != "":
		return nil, usage(fmt.Errorf("--mode %s: expected train, eval or infer", mode))
	case len(out) == 0:
		return nil, usage(fmt.Errorf("the config names no input: set train.input.format to one of %s", strings.Join(j.app.formats(), ", ")))
	}
	return out, nil
}

// looseDir is the model_dir of a config without one.
const looseDir = "none"

// looseJob makes an estimator that leaves no files behind: a config without a
// model_dir gets looseDir.
func (a *app) looseJob(ctx context.Context, cfg *config.Config) (*job, error) {
	c := *cfg
	c.ModelDir = cmp.Or(c.ModelDir, looseDir)
	return a.newJob(ctx, &c, columnSource{})
}

// section is an input of the config and its mode.
type section struct {
	name string
	mode models.Mode
	in   inputs.Spec
}

func (j *job) sections() []section {
	return []section{
		{"train", models.Train, j.cfg.Resolve(j.cfg.Train.Input)},
		{"eval", models.Eval, j.cfg.Resolve(j.cfg.Eval.Input)},
		{"predict", models.Predict, j.cfg.PredictInput()},
	}
}

func (a *app) printGraph(d *estimator.Description) error {
	b, err := d.GraphDef()
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(b)
	return err
}

// modelInfo is a mode's program as JSON.
type modelInfo struct {
	Mode        string         `json:"mode"`
	Nodes       int            `json:"nodes"`
	Ops         map[string]int `json:"ops"`
	Inputs      []string       `json:"inputs"`
	Variables   []tensorInfo   `json:"variables"`
	Slots       []tensorInfo   `json:"slots"`
	Predictions []string       `json:"predictions"`
	Metrics     []string       `json:"metrics"`
	Summaries   []string       `json:"summaries"`
}

func newModelInfo(d *estimator.Description) modelInfo {
	i := modelInfo{Mode: string(d.Mode), Ops: d.Ops, Inputs: []string{}, Predictions: list(d.Predictions),
		Metrics: list(d.Metrics), Summaries: list(d.Summaries), Variables: tensorInfos(d.Variables), Slots: tensorInfos(d.Slots)}
	for _, n := range d.Ops {
		i.Nodes += n
	}
	for _, in := range d.Inputs {
		i.Inputs = append(i.Inputs, in.Tensor+" "+in.Column.String())
	}
	return i
}

// list is names as JSON: an empty list if there are none.
func list(names []string) []string { return append([]string{}, names...) }

func tensorInfos(vars []hooks.VariableInfo) []tensorInfo {
	out := []tensorInfo{}
	for _, v := range vars {
		out = append(out, tensorInfo{v.Name, v.DType.String(), v.Shape, elements(v.Shape) * int64(v.DType.Size())})
	}
	return out
}

func (a *app) printModel(ds []*estimator.Description, columns []columnInfo, asJSON bool) error {
	infos := map[string]modelInfo{}
	var b strings.Builder
	for _, d := range ds {
		i := newModelInfo(d)
		infos[i.Mode] = i
		fmt.Fprintf(&b, "mode %s: %d nodes, %d kinds of ops\n", i.Mode, i.Nodes, len(i.Ops))
		addLine(&b, "inputs", i.Inputs)
		addLine(&b, "predictions", i.Predictions)
		addLine(&b, "metrics", i.Metrics)
		addLine(&b, "summaries", i.Summaries)
		addLine(&b, "ops", opCounts(i.Ops))
	}
	if asJSON {
		out := map[string]any{"modes": infos}
		if len(columns) > 0 {
			out["feature_columns"] = columns
		}
		return a.printJSON(out)
	}
	b.WriteString(formatColumns(columns))
	b.WriteString(formatVariables(ds[0].Variables))
	if slots := infos[string(models.Train)].Slots; len(slots) > 0 {
		bytes := int64(0)
		for _, s := range slots {
			bytes += s.Bytes
		}
		fmt.Fprintf(&b, "optimizer slots: %d of %s bytes\n", len(slots), group(bytes))
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

func addLine(b *strings.Builder, name string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(b, "  %s: %s\n", name, strings.Join(items, ", "))
	}
}

// opCounts lists ops, the most frequent first.
func opCounts(ops map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(ops), func(x, y string) int {
		return cmp.Or(cmp.Compare(ops[y], ops[x]), cmp.Compare(x, y))
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, ops[n])
	}
	return names
}
