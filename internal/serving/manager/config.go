package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/serving/traffic"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Platform is the model platform that is served.
const Platform = "tensorflow"

// ParseConfig reads a ModelServerConfig from its text form, as in TensorFlow
// Serving's --model_config_file, with the fields of package traffic.
func ParseConfig(text []byte) (*config.ModelServerConfig, error) {
	c, err := traffic.Parse(text)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return c, nil
}

// Single is the config of models by name and base path, each with its latest version.
func Single(basePaths map[string]string) *config.ModelServerConfig {
	list := &config.ModelConfigList{}
	for name, base := range basePaths {
		list.Config = append(list.Config, &config.ModelConfig{Name: name, BasePath: base, ModelPlatform: Platform})
	}
	slices.SortFunc(list.Config, func(a, b *config.ModelConfig) int { return strings.Compare(a.Name, b.Name) })
	return &config.ModelServerConfig{Config: &config.ModelServerConfig_ModelConfigList{ModelConfigList: list}}
}

// Discover is the config of all models below root: each folder with a version directory is the model of that
// name. Models of the config before (nil: none) stay while their folders cannot be read. Names that are not UTF-8 are left out, since no
// request can contain them.
func Discover(root string, before *config.ModelServerConfig) (*config.ModelServerConfig, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	children, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("model root: %w", err)
	}
	known := map[string]bool{}
	for _, m := range before.GetModelConfigList().GetConfig() {
		known[m.GetName()] = true
	}
	models := map[string]string{}
	for _, c := range children {
		if !utf8.ValidString(c.Name()) {
			continue
		}
		base := filepath.Join(root, c.Name())
		versions, err := scan(c.Name(), base, func(string) {})
		if len(versions) > 0 || known[c.Name()] && status.Code(err) == codes.Unavailable {
			models[c.Name()] = base
		}
	}
	return Single(models), nil
}

// Validate reports what is wrong with next, the config after old (nil: none).
func Validate(old, next *config.ModelServerConfig) error {
	if next.GetCustomModelConfig() != nil {
		return status.Error(codes.FailedPrecondition, "Cannot transition to requested config. It is only legal to transition from one ModelConfigList to another.")
	}
	platforms := map[string]string{}
	for _, m := range old.GetModelConfigList().GetConfig() {
		platforms[m.Name], _ = platform(m)
	}
	names := map[string]bool{}
	for _, m := range next.GetModelConfigList().GetConfig() {
		if names[m.Name] {
			return status.Errorf(codes.InvalidArgument, "Illegal to list model %s multiple times in config list", m.Name)
		}
		names[m.Name] = true
	}
	for _, m := range next.GetModelConfigList().GetConfig() {
		if err := validateModel(m, platforms); err != nil {
			return err
		}
	}
	return nil
}

func validateModel(m *config.ModelConfig, old map[string]string) error {
	if m.GetName() == "" {
		return status.Errorf(codes.InvalidArgument, "a model in the config list has no name; its base_path is %q", m.GetBasePath())
	}
	if !utf8.ValidString(m.GetName()) {
		return status.Errorf(codes.InvalidArgument, "model %q: expected a name in UTF-8", m.GetName())
	}
	if scheme, _, ok := strings.Cut(m.BasePath, "://"); ok && scheme != "file" {
		return status.Errorf(codes.InvalidArgument, "model %s: base_path %s: expected a folder of this machine, s3://, gs:// or azblob://, got scheme %s", m.Name, m.BasePath, scheme)
	}
	if !filepath.IsAbs(basePath(m)) {
		return status.Errorf(codes.InvalidArgument, "Expected model %s to have an absolute path or URI; got base_path()=%s", m.Name, m.BasePath)
	}
	if _, err := traffic.Of(m); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	p, err := platform(m)
	if err != nil {
		return err
	}
	if was := old[m.Name]; was != "" && was != p {
		return status.Errorf(codes.InvalidArgument, "Illegal to change a model's platform. For model %s platform was %s and new platform requested is %s", m.Name, was, p)
	}
	if p != Platform {
		return status.Errorf(codes.InvalidArgument, "PlatformConfigMap has no entry for platform %s. Expected %s", p, Platform)
	}
	return nil
}

// platform is the platform of a model, also from the deprecated model_type.
func platform(m *config.ModelConfig) (string, error) {
	switch {
	case m.GetModelType() == config.ModelType_MODEL_TYPE_UNSPECIFIED && m.GetModelPlatform() == "":
		return "", status.Error(codes.InvalidArgument, "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform.")
	case m.GetModelType() == config.ModelType_MODEL_TYPE_UNSPECIFIED:
		return m.GetModelPlatform(), nil
	case m.GetModelPlatform() != "":
		return "", status.Error(codes.InvalidArgument, "Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform.")
	case m.GetModelType() == config.ModelType_TENSORFLOW:
		return Platform, nil
	}
	return "", status.Errorf(codes.InvalidArgument, "ModelServerConfig::model_type choice %d not supported.", m.GetModelType())
}

// basePath is the folder of a model; file:///a/b is /a/b.
func basePath(m *config.ModelConfig) string {
	return strings.TrimPrefix(m.GetBasePath(), "file://")
}
