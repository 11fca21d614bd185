//go:build !noserve

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/traffic"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// divide adds the rules of --traffic and --shadow to the models.
func (f *serveFlags) divide(cfg *config.ModelServerConfig) error {
	rules := map[string]traffic.Rules{}
	for _, given := range f.traffic {
		name, list, ok := strings.Cut(given, "=")
		r := rules[name]
		if !ok || name == "" || len(r.Weights) > 0 {
			return fmt.Errorf("--traffic: got %q, expected MODEL=VERSION:WEIGHT,..., each model once, for example fashion=1:95,2:5", given)
		}
		for _, part := range strings.Split(list, ",") {
			w, err := weightOf(part)
			if err != nil {
				return fmt.Errorf("--traffic %s: %w", name, err)
			}
			r.Weights = append(r.Weights, w)
		}
		rules[name] = r
	}
	for _, given := range f.shadow {
		name, version, ok := strings.Cut(given, "=")
		r := rules[name]
		if !ok || name == "" || r.Shadow != nil {
			return fmt.Errorf("--shadow: got %q, expected MODEL=VERSION or MODEL=VERSION:PERCENT, each model once, for example fashion=2:10", given)
		}
		s, err := shadowOf(version)
		if err != nil {
			return fmt.Errorf("--shadow %s: %w", name, err)
		}
		r.Shadow = s
		rules[name] = r
	}
	for _, m := range cfg.GetModelConfigList().GetConfig() {
		if r, ok := rules[m.GetName()]; ok {
			if err := traffic.Set(m, r); err != nil {
				return err
			}
			delete(rules, m.GetName())
		}
	}
	for name := range rules {
		return fmt.Errorf("--traffic, --shadow: %s is no model of --model", name)
	}
	return nil
}

// weightOf parses "2:5": version 2 has weight 5.
func weightOf(text string) (w traffic.Weight, err error) {
	version, weight, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(weight, 10, 32)
	if !ok || err != nil || n > traffic.MaxWeight {
		return w, fmt.Errorf("got %q, expected VERSION:WEIGHT with a weight from 0 to %d, for example 2:5", text, traffic.MaxWeight)
	}
	w.Weight = uint32(n)
	w.Version, err = versionOf(version)
	return w, err
}

// shadowOf parses "2:10": version 2 gets copies of 10 percent of the requests.
func shadowOf(text string) (*traffic.Shadow, error) {
	version, percent, ok := strings.Cut(text, ":")
	s := &traffic.Shadow{Percent: 100, Tolerance: traffic.DefaultTolerance}
	var err error
	if ok {
		if s.Percent, err = strconv.ParseFloat(percent, 64); err != nil || !(s.Percent > 0 && s.Percent <= 100) {
			return nil, fmt.Errorf("got %q, expected a percentage above 0 and up to 100 behind the colon", text)
		}
	}
	s.Version, err = versionOf(version)
	return s, err
}

func versionOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("got version %q, expected the number of a version", text)
	}
	return n, nil
}
