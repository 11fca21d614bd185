package pbtext

import (
	"fmt"
	"testing"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"improperly formatted file":                     "1:1: unknown field: improperly",
		"model_config_list {\n  config {\n    nam: 3":   "3:5: unknown field: nam",
		"model_config_list {\n config { name: \"a\n\" ": "2:17: invalid character '\\n' in string",
		"model_config_list { config { name: 3 } }":      "1:36: invalid value for string type: 3",
		"model_config_list {":                           "unexpected EOF",
	} {
		err := Unmarshal([]byte(text), &config.ModelServerConfig{})
		if want = "Error parsing text-format tensorflow.serving.ModelServerConfig: " + want; err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func ExampleUnmarshal() {
	var c config.ModelServerConfig
	fmt.Println(Unmarshal([]byte(`model_config_list { confg {} }`), &c))
	// Output: Error parsing text-format tensorflow.serving.ModelServerConfig: 1:21: unknown field: confg
}
