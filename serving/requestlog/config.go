package requestlog

import (
	"path/filepath"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Type is the log_collector_config.type that this package serves; empty means it too.
const Type = "tfrecord"

// Configure makes the Logger log the models of list that have a logging_config, and no others. A bad configuration changes
// nothing and is InvalidArgument.
func (l *Logger) Configure(list *config.ModelServerConfig) error {
	models := map[string]*config.LoggingConfig{}
	for _, m := range list.GetModelConfigList().GetConfig() {
		c := m.GetLoggingConfig()
		if c == nil {
			continue
		}
		if err := validate(m.GetName(), c); err != nil {
			return err
		}
		models[m.GetName()] = proto.Clone(c).(*config.LoggingConfig)
	}
	l.models.Store(&models)
	return nil
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
