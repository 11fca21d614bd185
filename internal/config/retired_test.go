package config

import "testing"

// TestRetiredKeys: the value that earlier versions wrote to config.yaml is let pass, another one is a mistake.
func TestRetiredKeys(t *testing.T) {
	const refused = `run.blas: got "openblas", which is no key any more: leave it out`
	for _, c := range []struct{ text, env, set, want string }{
		{"run: {blas: go}", "", "", ""},
		{"run: {blas: }", "", "", ""},
		{"", "GOESTIMATOR_RUN_BLAS=go", "run.blas=go", ""},
		{"run: {blas: openblas}", "", "", refused + " (job.yaml:1)"},
		{"", "GOESTIMATOR_RUN_BLAS=openblas", "", refused + " (environment variable GOESTIMATOR_RUN_BLAS)"},
		{"", "", "run.blas=openblas", refused + " (--set run.blas)"},
	} {
		var sets []string
		if c.set != "" {
			sets = []string{c.set}
		}
		_, err := loadText(c.text, []string{c.env}, sets)
		got := ""
		if err != nil {
			got = err.Error()
		}
		want := c.want
		if want != "" {
			want = "invalid configuration: " + want
		}
		if got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}
