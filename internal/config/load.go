package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// LoadOptions names the sources of a [Config].
type LoadOptions struct {
	// Path of the config file. Empty: no file.
	Path string
	// Sets holds the --set arguments, each key=value; later ones win.
	Sets []string
	// Env holds the environment as name=value; nil means os.Environ().
	Env []string
	// PredictFile is the file that predict.input reads in place of its own; the config then need not name one.
	PredictFile string
}

// Load reads a config: --set over the environment over TF_CONFIG (cluster,
// task, model_dir) over the file over [Default]. Unknown keys, values of a wrong
// type and values out of bounds are reported together as a [*runconfig.ViolationsError].
func Load(o LoadOptions) (*Config, error) {
	var source []byte
	if o.Path != "" {
		var err error
		if source, err = atomicfile.ReadSmall(o.Path); err != nil {
			return nil, fmt.Errorf("read the config file: %w", err)
		}
	}
	return load(o, source)
}

func load(o LoadOptions, source []byte) (*Config, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	vs := &problems{meant: map[string]string{}}
	file, err := fileLayer(vs, cmp.Or(o.Path, "config"), source)
	if err != nil {
		return nil, err
	}
	env := envLayer(vs, o.Env)
	tf, tfConfig := tfLayer(vs, o.Env)
	layers := []*layer{file, tf, env, setLayer(vs, o.Sets)}
	cfg, origin, err := merge(layers)
	if err != nil {
		return nil, err
	}
	cfg.tfConfig = tfConfig
	if cfg.Run.ClusterResolver == "slurm" {
		if err := cfg.slurmRole(vs, o.Env); err != nil {
			return nil, err
		}
	}
	if lr := &cfg.Optimizer.LearningRate; origin("optimizer.learning_rate.initial") == "" {
		lr.Initial = lr.DefaultInitial()
	}
	cfg.complete()
	cfg.predictFile = o.PredictFile
	known := len(vs.Found)
	cfg.dropUnread(&vs.List, origin)
	cfg.validate(&vs.List)
	for i := known; i < len(vs.Found); i++ {
		vs.Found[i].Where = origin(vs.Found[i].Field)
	}
	vs.distinct(known)
	if err := vs.Err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// lookup finds variables of an environment.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		value := ""
		for _, pair := range environ {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				value = v
			}
		}
		return value
	}
}

// merge lays the layers, lowest first, over the defaults. The second result
// says where a key's value came from.
func merge(layers []*layer) (*Config, func(string) string, error) {
	v := viper.New()
	from := map[string]*layer{}
	for _, l := range layers {
		l.exclusive()
		for _, path := range slices.Sorted(maps.Keys(l.values)) {
			v.Set(path, l.values[path])
			from[path] = l
		}
	}
	cfg := Default()
	err := v.Unmarshal(&cfg, func(c *mapstructure.DecoderConfig) {
		c.TagName = "yaml"
		c.WeaklyTypedInput = false
		c.DecodeHook = nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("decode the configuration: %w", err)
	}
	origin := func(field string) string {
		given := field
		for given != "" && from[given] == nil {
			given = above(given)
		}
		l := from[given]
		if l == nil {
			return ""
		}
		for part := field; len(part) > len(given); part = above(part) {
			if l.lines[part] > 0 {
				return l.where(part)
			}
		}
		return l.where(given)
	}
	return &cfg, origin, nil
}

// above is the key that one is below, or the list that it is in; "" of none.
func above(key string) string { return key[:max(strings.LastIndexAny(key, ".["), 0)] }

// exclusive applies tf.estimator's rule within one layer: giving one of the two
// checkpoint intervals clears the other of the layers below.
func (l *layer) exclusive() {
	const steps, secs = "run.save_checkpoints_steps", "run.save_checkpoints_secs"
	_, hasSteps := l.values[steps]
	_, hasSecs := l.values[secs]
	switch {
	case hasSteps && !hasSecs:
		l.values[secs] = float64(0)
	case hasSecs && !hasSteps:
		l.values[steps] = int64(0)
	}
}

// fileLayer reads a YAML file by viper.
func fileLayer(vs *problems, path string, source []byte) (*layer, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(source)); err != nil {
		return nil, badYAML(path, source, err)
	}
	scan := scanLines(source)
	l := newLayer(vs, func(key string) string {
		if line := cmp.Or(scan.lines[key], scan.lines[aliasPath(key)]); line > 0 {
			return fmt.Sprintf("%s:%d", path, line)
		}
		return path
	})
	l.lines, l.numbers = scan.lines, scan.numbers
	for _, key := range scan.twice {
		l.bad(key, "the same key twice", "expected it once (letters' case does not count)")
	}
	l.put(schema(), "", v.AllSettings())
	// viper leaves null values out, so a misspelt key without a value is looked for here.
	for _, key := range slices.Sorted(maps.Keys(scan.lines)) {
		if !v.IsSet(key) && !strings.Contains(key, "[") && schema().find(key) == nil {
			l.unknown(key, nil)
		}
	}
	return l, nil
}
