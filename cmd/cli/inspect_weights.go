package cli

import (
	"fmt"

	"github.com/goestimator/goestimator/models/weights"
	"github.com/spf13/cobra"
)

func (a *app) inspectWeightsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "weights PATH",
		Short: "list the tensors of a file of weights",
		Long: `Lists the tensors that a warm start (model.warm_start.from) would find: PATH is a
file of weights, in a format that is found by content, the prefix of a checkpoint,
or a folder with checkpoints, a SavedModel or safetensors. Elements are not read.`,
		Example: `  goestimator inspect weights model.safetensors
  goestimator inspect weights exports/glyphs/1795251262 --json`,
		Args: onePath,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := weights.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			return a.printWeightsFile(f, asJSON)
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) printWeightsFile(f *weights.File, asJSON bool) error {
	list := []tensorInfo{}
	var count, bytes int64
	t := newTextTable("tensor", "type", "shape", "elements", "bytes")
	t.right(3, 4)
	for _, i := range f.List() {
		n := elements(i.Shape)
		count, bytes = count+n, bytes+i.Bytes
		list = append(list, tensorInfo{i.Name, i.DType.String(), i.Shape, i.Bytes})
		t.add(i.Name, i.DType.String(), shapeText(i.Shape), group(n), group(i.Bytes))
	}
	if asJSON {
		return a.printJSON(map[string]any{"path": f.Path(), "format": f.Format(), "tensors": list, "elements": count, "bytes": bytes})
	}
	t.add(fmt.Sprintf("total: %d tensors", len(list)), "", "", group(count), group(bytes))
	_, err := fmt.Fprintf(a.stdout, "%s, %s\n%s", f.Path(), f.Format(), t)
	return err
}
