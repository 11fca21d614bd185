package requestlog

import (
	"github.com/goestimator/goestimator/internal/serving/inference"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// prediction makes the record of a call; nil if calls of its kind have no record, or if it could not be decoded.
func prediction(c inference.Call, sampling *config.SamplingConfig) *apis.PredictionLog {
	log := &apis.PredictionLog{LogMetadata: &apis.LogMetadata{
		ModelSpec: &apis.ModelSpec{Name: c.ID.Name, SignatureName: c.Signature,
			VersionChoice: &apis.ModelSpec_Version{Version: wrapperspb.Int64(c.ID.Version)}},
		SamplingConfig: sampling, SavedModelTags: []string{"serve"}, TimestampSecs: c.Start.Unix(),
	}}
	request, response := c.Request(), c.Response()
	switch req := request.(type) {
	case *apis.PredictRequest:
		if resp, ok := response.(*apis.PredictResponse); ok {
			log.LogType = &apis.PredictionLog_PredictLog{PredictLog: &apis.PredictLog{Request: req, Response: resp}}
		}
	case *apis.ClassificationRequest:
		if resp, ok := response.(*apis.ClassificationResponse); ok {
			log.LogType = &apis.PredictionLog_ClassifyLog{ClassifyLog: &apis.ClassifyLog{Request: req, Response: resp}}
		}
	case *apis.RegressionRequest:
		if resp, ok := response.(*apis.RegressionResponse); ok {
			log.LogType = &apis.PredictionLog_RegressLog{RegressLog: &apis.RegressLog{Request: req, Response: resp}}
		}
	case *apis.MultiInferenceRequest:
		if resp, ok := response.(*apis.MultiInferenceResponse); ok {
			log.LogType = &apis.PredictionLog_MultiInferenceLog{MultiInferenceLog: &apis.MultiInferenceLog{Request: req, Response: resp}}
		}
	}
	if log.LogType == nil {
		return nil
	}
	return log
}
