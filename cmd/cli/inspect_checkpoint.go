package cli

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/spf13/cobra"
)

func (a *app) inspectCheckpointCommand() *cobra.Command {
	var asJSON bool
	var values string
	cmd := &cobra.Command{
		Use:   "checkpoint PATH",
		Short: "list the tensors of a checkpoint",
		Long: `Lists the tensors of a checkpoint, ours or TensorFlow's: PATH is its prefix, or a
folder, whose newest checkpoint is meant. Every byte is checked. Names below
goestimator/ hold the positions of inputs and the states of hooks.`,
		Example: `  goestimator inspect checkpoint runs/glyphs
  goestimator inspect checkpoint runs/glyphs/model.ckpt-500 --values dense/bias`,
		Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			prefix, err := findCheckpoint(args[0])
			if err != nil {
				return err
			}
			r, err := checkpoint.Open(prefix)
			if err != nil {
				return err
			}
			defer r.Close()
			if values != "" {
				return a.printTensor(r, values)
			}
			if err := r.Verify(); err != nil {
				return err
			}
			return a.printCheckpoint(r, asJSON)
		},
	}
	cmd.Flags().StringVar(&values, "values", "", "print the elements of the tensor of this name as nested JSON lists")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// tensorInfo is a tensor of a checkpoint as it is printed.
type tensorInfo struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Bytes int64  `json:"bytes"`
}

func (a *app) printCheckpoint(r *checkpoint.Reader, asJSON bool) error {
	list := []tensorInfo{}
	var count, bytes int64
	t := newTextTable("tensor", "type", "shape", "elements", "bytes")
	t.right(3, 4)
	for _, i := range r.List() {
		n := elements(i.Shape)
		size := i.Bytes
		if len(i.Slices) > 0 {
			size = n * int64(i.DType.Size())
		}
		count, bytes = count+n, bytes+size
		list = append(list, tensorInfo{i.Name, i.DType.String(), i.Shape, size})
		t.add(i.Name, i.DType.String(), shapeText(i.Shape), group(n), group(size))
	}
	if asJSON {
		return a.printJSON(map[string]any{"prefix": r.Prefix(), "global_step": r.Step(), "tensors": list, "elements": count, "bytes": bytes})
	}
	t.add(fmt.Sprintf("total: %d tensors", len(list)), "", "", group(count), group(bytes))
	_, err := fmt.Fprintf(a.stdout, "checkpoint %s, global_step %d\n%s", r.Prefix(), r.Step(), t)
	return err
}

func (a *app) printTensor(r *checkpoint.Reader, name string) error {
	if _, ok := r.Lookup(name); !ok {
		return fmt.Errorf("checkpoint %s has no tensor %q: `goestimator inspect checkpoint %s` lists them", r.Prefix(), name, r.Prefix())
	}
	t, err := r.Tensor(name)
	if err != nil {
		return err
	}
	b, err := appendTensor(nil, t, t.Shape, 0)
	if err != nil {
		return fmt.Errorf("tensor %s: %w", name, err)
	}
	_, err = a.stdout.Write(append(b, '\n'))
	return err
}
