package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

// tfLayer takes model_dir of TF_CONFIG, and the text of it for RunConfig. It counts
// also where something else in the text is wrong, which is reported with the role.
func tfLayer(vs *problems, environ []string) (*layer, string) {
	l := newLayer(vs, func(string) string { return "TF_CONFIG" })
	text := lookup(environ)("TF_CONFIG")
	var tf map[string]any
	if json.Unmarshal([]byte(text), &tf) == nil {
		if dir, _ := tf["model_dir"].(string); dir != "" {
			l.values["model_dir"] = dir
		}
	}
	return l, text
}

// slurmRole takes the cluster and the role from Slurm in place of TF_CONFIG, which
// may have a model_dir alone: what keeps that from being read is reported.
func (c *Config) slurmRole(vs *problems, environ []string) (err error) {
	_, err = runconfig.FromTFConfig(c.tfConfig)
	var wrong *runconfig.ViolationsError
	if errors.As(err, &wrong) {
		for _, v := range wrong.Violations {
			if v.Field == "TF_CONFIG" || v.Field == "TF_CONFIG.model_dir" {
				vs.Found = append(vs.Found, v)
			}
		}
	}
	c.tfConfig, err = runconfig.SlurmTFConfig(lookup(environ))
	return err
}

// RunConfig returns the configuration of this task. It takes the cluster and the
// task from the TF_CONFIG that [Load] saw.
func (c *Config) RunConfig() (runconfig.RunConfig, error) {
	opts := []runconfig.Option{runconfig.TrainDistribute(c.Strategy), runconfig.Connections(c.RPC)}
	if c.ModelDir != "" {
		opts = append(opts, runconfig.ModelDir(c.ModelDir))
	}
	if c.Seed != 0 {
		opts = append(opts, runconfig.TFRandomSeed(c.Seed))
	}
	return runconfig.FromSpec(c.Run, c.tfConfig, opts...)
}

// Local returns a copy for a process that is not a task of a cluster, ignoring TF_CONFIG.
func (c *Config) Local() Config {
	local := *c
	local.tfConfig = ""
	switch local.Strategy.Name {
	case "multi_worker_mirrored", "parameter_server":
		local.Strategy = runconfig.Strategy{Name: "default", Device: c.Strategy.Device}
	}
	return local
}

// InputPath resolves a file name, glob or URL of an input against data_dir.
func (c *Config) InputPath(name string) string {
	if name == "" || name == inputs.StdinFile {
		return name
	}
	return inputs.Join(c.DataDir, name)
}

// Resolve returns a copy of an input whose file names are resolved against data_dir.
func (c *Config) Resolve(in inputs.Spec) inputs.Spec {
	return in.EachInput(func(in inputs.Spec) inputs.Spec {
		in.Images, in.Labels = c.InputPath(in.Images), c.InputPath(in.Labels)
		in.Files = slices.Clone(in.Files)
		for i, f := range in.Files {
			in.Files[i] = c.InputPath(f)
		}
		if in.SQL.IsFile() {
			in.SQL.Source = c.InputPath(in.SQL.Source)
		}
		f := &in.Flight
		f.CAFile, f.CertFile, f.KeyFile, f.HeadersFile = c.InputPath(f.CAFile), c.InputPath(f.CertFile), c.InputPath(f.KeyFile), c.InputPath(f.HeadersFile)
		in.Transforms = slices.Clone(in.Transforms)
		for i := range in.Transforms {
			in.Transforms[i].Dir = c.InputPath(in.Transforms[i].Dir)
		}
		if in.Augment.Mixes() && in.Augment.Classes == 0 {
			in.Augment.Classes = c.classes()
		}
		return in
	})
}

// classes is the number of classes that the model's parameters name, 0 where they name none.
func (c *Config) classes() int {
	for _, name := range []string{"classes", "n_classes"} {
		if n, ok := c.Model.Params[name].(int); ok {
			return n
		}
	}
	return 0
}

// PredictInput returns predict.input, or eval.input where that names no format,
// with file names resolved.
func (c *Config) PredictInput() inputs.Spec {
	if c.Predict.Input.Format == "" {
		return c.Resolve(c.Eval.Input)
	}
	return c.Resolve(c.Predict.Input)
}

// Marshal returns the config as YAML with every value that matters written out;
// [Load] of it gives the same config.
func (c *Config) Marshal() ([]byte, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	return []byte(b.String()), nil
}

// WriteFile writes [Config.Marshal] to a file, which appears whole or not at all.
func (c *Config) WriteFile(path string) error {
	text, err := c.Marshal()
	if err != nil {
		return err
	}
	if err := atomicfile.Rewrite(path, text); err != nil {
		return fmt.Errorf("write the configuration to %s: %w", path, err)
	}
	return nil
}
