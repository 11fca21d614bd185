package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/runconfig/violation"
)

// dropUnread switches off the inputs whose format was emptied, as --set eval.input.format= does, and reports keys of inputs for which no
// format is given: nothing would read them. given says where the value of a key came from, "" for nowhere.
func (c *Config) dropUnread(vs *violation.List, given func(key string) string) {
	off := inputs.DefaultSpec()
	if c.Predict.Input.Format == "" {
		c.Predict.Input = withoutFormat(vs, "predict.input", c.Predict.Input, off, given)
	}
	off.BatchSize = c.Eval.Input.BatchSize // all that crossval takes of eval.input
	if c.Eval.Input.Format == "" {
		c.Eval.Input = withoutFormat(vs, "eval.input", c.Eval.Input, off, given)
	}
}

// withoutFormat returns what is left of an input without a format.
func withoutFormat(vs *violation.List, section string, in, off inputs.Spec, given func(key string) string) inputs.Spec {
	if given(section+".format") != "" {
		return off
	}
	if key := firstDifference(in, off); key != "" {
		vs.Add(section+".format", "", fmt.Sprintf("expected the format of the data beside %s.%s, for example csv: without it %[1]s is not read", section, key))
	}
	return in
}

// firstDifference is the key of the first field in which two inputs differ, "" where none does.
func firstDifference(a, b inputs.Spec) string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) && !(x.Field(i).Kind() == reflect.Slice && x.Field(i).Len() == 0) {
			key, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("yaml"), ",")
			return key
		}
	}
	return ""
}
