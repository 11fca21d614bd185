package rest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"github.com/wamuir/graft/tensorflow/tsl/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// status appends the states of a model's versions, or the state of one. As in TensorFlow Serving a label is ignored.
func (h *handler) status(out []byte, to route) ([]byte, error) {
	if to.model == "" {
		return out, invalid("Missing model name in request.")
	}
	r := &apis.GetModelStatusResponse{}
	for _, s := range h.Catalog.Status(to.model) {
		if !to.version.Exact || s.ID.Version == to.version.Number {
			r.ModelVersionStatus = append(r.ModelVersionStatus, versionStatus(s))
		}
	}
	switch {
	case len(r.ModelVersionStatus) > 0:
		return appendMessage(out, r), nil
	case to.version.Exact:
		return out, status.Errorf(codes.NotFound, "Could not find version %d of model %s", to.version.Number, to.model)
	}
	return out, status.Errorf(codes.NotFound, "Could not find any versions of model %s", to.model)
}

func versionStatus(s servable.Status) *apis.ModelVersionStatus {
	st, _ := status.FromError(s.Err)
	return &apis.ModelVersionStatus{
		Version: s.ID.Version, State: apis.ModelVersionStatus_State(s.State),
		Status: &apis.StatusProto{ErrorCode: for_core_protos_go_proto.Code(st.Code()), ErrorMessage: strings.ToValidUTF8(st.Message(), "\uFFFD")}, // it may quote a damaged file
	}
}

// metadata appends the signatures of a model, in the form in which TensorFlow Serving joins its two messages.
func (h *handler) metadata(ctx context.Context, out []byte, to route) ([]byte, error) {
	if to.model == "" {
		return out, invalid("Missing model name in request.")
	}
	spec := &apis.ModelSpec{Name: to.model}
	switch {
	case to.version.Label != "":
		spec.VersionChoice = &apis.ModelSpec_VersionLabel{VersionLabel: to.version.Label}
	case to.version.Exact:
		spec.VersionChoice = &apis.ModelSpec_Version{Version: wrapperspb.Int64(to.version.Number)}
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r, err := h.Service.GetModelMetadata(ctx, &apis.GetModelMetadataRequest{ModelSpec: spec, MetadataField: []string{inference.SignatureDefField}})
	if err != nil {
		return out, err
	}
	var sigs apis.SignatureDefMap
	if err := r.GetMetadata()[inference.SignatureDefField].UnmarshalTo(&sigs); err != nil {
		return out, status.Error(codes.Internal, "Failed to unpack 'Any' object to 'SignatureDefMap'.")
	}
	out = append(out, "{\n\"model_spec\":"...)
	out = appendMessage(out, r.GetModelSpec())
	out = append(out, ",\n\"metadata\": {\"signature_def\": "...)
	out = appendMessage(out, &sigs)
	out = append(out, '}')
	if f := h.Service.Features(inference.Spec{Name: to.model, Version: to.version}); len(f) > 0 {
		out = append(out, ",\n\"features\": "...)
		out = appendFeatures(out, f)
	}
	out = h.appendUsage(out, to.model, r.GetModelSpec().GetVersion().GetValue())
	return append(out, "\n}\n"...), nil
}

// appendUsage appends the resources that a version uses, and the server's identity.
func (h *handler) appendUsage(out []byte, model string, version int64) []byte {
	w := &writer{narrow: true}
	seconds := func(since time.Time) { w.whole("uptime_seconds", int64(time.Since(since).Seconds())) }
	if h.Meter != nil {
		if u, ok := h.Meter.Usage(model)[version]; ok {
			w.buf = append(out, ",\n\"usage\": "...)
			w.open('{')
			w.whole("memory_bytes", u.Memory)
			w.whole("queue", int64(u.Queue))
			seconds(u.Since)
			w.part("traffic_share", u.Share)
			w.part("shadow_share", u.Shadow)
			w.close('}')
			out = w.buf
		}
	}
	if h.About != nil {
		w.buf = append(out, ",\n\"server\": "...)
		w.open('{')
		w.pair("build", h.About.Build)
		seconds(h.About.Started)
		w.close('}')
		out = w.buf
	}
	return out
}

// whole appends an integer member.
func (w *writer) whole(name string, n int64) {
	w.quoted([]byte(name))
	w.raw(strconv.FormatInt(n, 10))
}

// part appends a member whose value is a number from 0 to 1.
func (w *writer) part(name string, x float64) {
	w.quoted([]byte(name))
	w.raw(strconv.FormatFloat(x, 'g', 6, 64))
}

// appendFeatures appends the features that each signature parses from examples.
func appendFeatures(out []byte, all map[string][]servable.Feature) []byte {
	w := &writer{buf: out, narrow: true}
	w.open('{')
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w.quoted([]byte(key))
		w.open('[')
		for _, f := range all[key] {
			w.open('{')
			w.pair("name", f.Name)
			w.pair("dtype", typeName(f.DType))
			if f.Sparse {
				w.quoted([]byte("sparse"))
				w.raw("true")
			} else {
				w.shape(f.Shape)
			}
			w.close('}')
		}
		w.close(']')
	}
	w.close('}')
	return w.buf
}

// list appends all models with the states of their versions.
func (h *handler) list(out []byte) []byte {
	w := &writer{buf: out, narrow: true}
	w.open('{')
	w.quoted([]byte("models"))
	w.open('[')
	for _, name := range h.Catalog.Models() {
		w.open('{')
		w.quoted([]byte("name"))
		w.quoted([]byte(name))
		w.quoted([]byte("model_version_status"))
		w.open('[')
		for _, s := range h.Catalog.Status(name) {
			w.message(versionStatus(s).ProtoReflect())
		}
		w.close(']')
		w.close('}')
	}
	w.close(']')
	w.close('}')
	return append(w.buf, '\n')
}
