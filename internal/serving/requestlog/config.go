package requestlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Type is the log_collector_config.type that this package serves; an empty type means the same.
const Type = "tfrecord"

// target says what is logged for a model, and where: the prefix of the file names, below Options.Dir.
type target struct {
	config *config.LoggingConfig
	prefix string
}

// Configure makes the Logger log the models of list that have a logging_config, and no others. An invalid configuration
// changes nothing and is InvalidArgument.
func (l *Logger) Configure(list *config.ModelServerConfig) error {
	models, err := targets(l.o.Dir, list)
	if err == nil {
		l.models.Store(&models)
	}
	return err
}

// Check returns the error of a Logger with this Options.Dir for the configuration.
func Check(dir string, list *config.ModelServerConfig) error {
	_, err := targets(dir, list)
	return err
}

// targets are the models of list that are logged.
func targets(dir string, list *config.ModelServerConfig) (map[string]target, error) {
	models := map[string]target{}
	for _, m := range list.GetModelConfigList().GetConfig() {
		c := m.GetLoggingConfig()
		if c == nil {
			continue
		}
		if err := validate(m.GetName(), c); err != nil {
			return nil, err
		}
		prefix, err := below(dir, c.GetLogCollectorConfig().GetFilenamePrefix())
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "logging_config of model %s: %v", m.GetName(), err)
		}
		models[m.GetName()] = target{proto.Clone(c).(*config.LoggingConfig), prefix}
	}
	return models, nil
}

// below returns prefix as a path relative to dir. It must lie below dir: clients that replace the config must not choose arbitrary files.
func below(dir, prefix string) (string, error) {
	if dir == "" {
		return "", errors.New("this server keeps no request logs: start it with --request-log-dir DIR")
	}
	path := filepath.Clean(prefix)
	if filepath.IsAbs(path) {
		root, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		if path, err = filepath.Rel(root, path); err != nil {
			return "", err
		}
	}
	if path == "." || !filepath.IsLocal(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("filename_prefix %q: expected a path below %s, which --request-log-dir names", prefix, dir)
	}
	if os.IsPathSeparator(prefix[len(prefix)-1]) {
		path += string(filepath.Separator) // Clean removed it: prefix is a folder, and file names have no other prefix
	}
	return path, nil
}

func validate(model string, c *config.LoggingConfig) error {
	collector := c.GetLogCollectorConfig()
	if t := collector.GetType(); t != "" && t != Type {
		return status.Errorf(codes.InvalidArgument, "Cannot find LogCollector::Factory for type: %s; model %s: expected %q", t, model, Type)
	}
	if p := collector.GetFilenamePrefix(); p == "" || filepath.Base(p) == "." {
		return status.Errorf(codes.InvalidArgument, "logging_config of model %s: filename_prefix %q: expected a path that file names begin with", model, p)
	}
	if r := c.GetSamplingConfig().GetSamplingRate(); !(r >= 0 && r <= 1) {
		return status.Errorf(codes.InvalidArgument, "logging_config of model %s: sampling_rate %v: expected a number from 0 to 1", model, r)
	}
	return nil
}
