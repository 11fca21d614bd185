package manager

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/status"
)

func parse(t testing.TB, text string) *config.ModelServerConfig {
	t.Helper()
	c, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValidate(t *testing.T) {
	old := `model_config_list {config {name: "m" base_path: "/m" model_platform: "other"}}`
	for _, c := range []struct{ name, config, want string }{
		{"good", `model_config_list {config {name: "a" base_path: "/a" model_platform: "tensorflow"} config {name: "b" base_path: "/a" model_platform: "tensorflow"}}`, ""},
		{"file URI", `model_config_list {config {name: "a" base_path: "file:///a" model_platform: "tensorflow"}}`, ""},
		{"deprecated type", `model_config_list {config {name: "a" base_path: "/a" model_type: TENSORFLOW}}`, ""},
		{"none", ``, ""},
		{"duplicate", `model_config_list {config {name: "a" base_path: "/a" model_platform: "tensorflow"} config {name: "a" base_path: "/b" model_platform: "tensorflow"}}`,
			"InvalidArgument: Illegal to list model a multiple times in config list"},
		{"relative", `model_config_list {config {name: "a" base_path: "a" model_platform: "tensorflow"}}`,
			"InvalidArgument: Expected model a to have an absolute path or URI; got base_path()=a"},
		{"no base path", `model_config_list {config {name: "a" model_platform: "tensorflow"}}`,
			"InvalidArgument: Expected model a to have an absolute path or URI; got base_path()="},
		{"no platform", `model_config_list {config {name: "a" base_path: "/a"}}`,
			"InvalidArgument: Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform."},
		{"both", `model_config_list {config {name: "a" base_path: "/a" model_type: TENSORFLOW model_platform: "tensorflow"}}`,
			"InvalidArgument: Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform."},
		{"other type", `model_config_list {config {name: "a" base_path: "/a" model_type: OTHER}}`,
			"InvalidArgument: ModelServerConfig::model_type choice 2 not supported."},
		{"platform change", `model_config_list {config {name: "m" base_path: "/m" model_platform: "tensorflow"}}`,
			"InvalidArgument: Illegal to change a model's platform. For model m platform was other and new platform requested is tensorflow"},
		{"unknown platform", `model_config_list {config {name: "a" base_path: "/a" model_platform: "onnx"}}`,
			"InvalidArgument: PlatformConfigMap has no entry for platform onnx. Expected tensorflow"},
		{"object store", `model_config_list {config {name: "a" base_path: "s3://b/a" model_platform: "tensorflow"}}`,
			"InvalidArgument: model a: base_path s3://b/a: expected a folder of this machine, s3://, gs:// or azblob://, got scheme s3"},
		{"no name", `model_config_list {config {base_path: "/a" model_platform: "tensorflow"}}`,
			`InvalidArgument: a model in the config list has no name; its base_path is "/a"`},
		{"custom", `custom_model_config {}`,
			"FailedPrecondition: Cannot transition to requested config. It is only legal to transition from one ModelConfigList to another."},
	} {
		got := ""
		if err := Validate(parse(t, old), parse(t, c.config)); err != nil {
			got = status.Code(err).String() + ": " + status.Convert(err).Message()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestNamesAreUTF8(t *testing.T) {
	err := Validate(nil, Single(map[string]string{"\xff": "/m"}))
	if want := `model "\xff": expected a name in UTF-8`; status.Convert(err).Message() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestParseConfig(t *testing.T) {
	for name, good := range map[string]bool{"good_model_config.txt": true, "bad_model_config.txt": false} {
		text, err := os.ReadFile(testkit.Shared(t, "golden/tensorflow-serving/"+name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseConfig(text)
		if good != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if good && len(c.GetModelConfigList().GetConfig()) != 2 {
			t.Errorf("%s: got %v, want two models", name, c)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`model_config_list {config {name: "a" base_path: "/a" model_platform: "tensorflow" model_version_policy {latest {num_versions: 2}} version_labels {key: "x" value: 1}}}`))
	f.Add([]byte(`improperly formatted file`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil {
			_ = Validate(nil, c)
		}
	})
}

func TestDiscover(t *testing.T) {
	d := newDisk(t)
	d.put("b", "1", "ok")
	d.put("a", "00000123", "ok")
	d.put("not", "model", "ok")
	if err := os.WriteFile(filepath.Join(d.root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// No request can name this one; not every file system has it.
	if err := os.MkdirAll(filepath.Join(d.root, "\xff", "1"), 0o755); err != nil {
		t.Log(err)
	}
	c, err := Discover(d.root, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.GetModelConfigList().GetConfig() {
		got = append(got, m.Name+"="+m.BasePath)
	}
	if len(got) != 2 || got[0] != "a="+d.base("a") || got[1] != "b="+d.base("b") {
		t.Errorf("got %v, want a and b", got)
	}
	if _, err := Discover(d.base("none"), nil); err == nil {
		t.Error("a root that does not exist gives no error")
	}
	// A folder that cannot be read keeps its model, unlike one without versions, or one that is gone.
	d.remove("a")
	if err := os.Symlink("a", d.base("a")); err != nil {
		t.Skip(err) // the system does not let us make links
	}
	for _, s := range []struct {
		before *config.ModelServerConfig
		remove string
		want   int
	}{{c, "none", 2}, {nil, "none", 1}, {c, "b/1", 1}, {c, "a", 0}} {
		d.remove(s.remove)
		if now, err := Discover(d.root, s.before); err != nil || len(now.GetModelConfigList().GetConfig()) != s.want {
			t.Errorf("without %s: got %v, %v, expected %d models", s.remove, now, err, s.want)
		}
	}
}
