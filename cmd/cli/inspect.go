package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "look into checkpoints, files of weights, events, SavedModels, models, the places of variables, data and TF_CONFIG",
		Example: `  goestimator inspect checkpoint runs/glyphs
  goestimator inspect weights mobilenet.h5
  goestimator inspect events runs/glyphs --tag loss
  goestimator inspect savedmodel exports/glyphs
  goestimator inspect model --config configs/glyphs.yaml
  goestimator inspect shards --config configs/glyphs.yaml --ps 2
  goestimator inspect data --config configs/iris.yaml
  goestimator inspect tf-config`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.inspectCheckpointCommand(), a.inspectWeightsCommand(), a.inspectEventsCommand(), a.inspectSavedModelCommand(), a.inspectModelCommand(), a.inspectShardsCommand(), a.describeCommand("data"), a.inspectTFConfigCommand())
	return cmd
}

// onePath checks that a command has exactly one path as argument.
func onePath(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage(errors.New("expected a path"))
	case len(args) > 1:
		return usage(fmt.Errorf("unexpected argument %q", args[1]))
	}
	return nil
}

func addJSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON object")
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
