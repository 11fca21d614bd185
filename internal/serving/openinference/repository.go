package openinference

import (
	"context"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// state is a version's state in the index.
func state(s servable.State) string {
	switch s {
	case servable.Available:
		return "READY"
	case servable.Unloading:
		return "UNLOADING"
	case servable.Start, servable.Loading:
		return "LOADING"
	}
	return "UNAVAILABLE"
}

// RepositoryIndex implements the repository extension: the versions of all models, and the models that can be loaded again.
func (s *Service) RepositoryIndex(_ context.Context, r *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	out := &pb.RepositoryIndexResponse{}
	for _, name := range s.Catalog.Models() {
		versions := s.Catalog.Status(name)
		for _, v := range versions {
			if r.GetReady() && v.State != servable.Available {
				continue
			}
			m := &pb.RepositoryIndexResponse_ModelIndex{Name: name, Version: strconv.FormatInt(v.ID.Version, 10), State: state(v.State)}
			if v.Err != nil {
				m.Reason = strings.ToValidUTF8(status.Convert(v.Err).Message(), "\uFFFD") // it may quote a damaged file
			}
			out.Models = append(out.Models, m)
		}
		if len(versions) == 0 && !r.GetReady() {
			out.Models = append(out.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: name, State: "UNAVAILABLE", Reason: "no version was found"})
		}
	}
	if s.Repository != nil && !r.GetReady() {
		for _, name := range s.Repository.Unloaded() {
			out.Models = append(out.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: name, State: "UNAVAILABLE", Reason: "unloaded"})
		}
	}
	return out, nil
}

// RepositoryModelLoad implements the repository extension.
func (s *Service) RepositoryModelLoad(ctx context.Context, r *pb.RepositoryModelLoadRequest) (*pb.RepositoryModelLoadResponse, error) {
	for name := range r.GetParameters() {
		if name == "config" || strings.HasPrefix(name, "file:") {
			return nil, invalid("parameter %s: models are loaded as the server's config says", short(name))
		}
	}
	if err := s.change(ctx, r.GetModelName(), Repository.Load); err != nil {
		return nil, err
	}
	return &pb.RepositoryModelLoadResponse{ModelName: r.GetModelName(), IsLoaded: true}, nil
}

// RepositoryModelUnload implements the repository extension.
func (s *Service) RepositoryModelUnload(ctx context.Context, r *pb.RepositoryModelUnloadRequest) (*pb.RepositoryModelUnloadResponse, error) {
	if err := s.change(ctx, r.GetModelName(), Repository.Unload); err != nil {
		return nil, err
	}
	return &pb.RepositoryModelUnloadResponse{ModelName: r.GetModelName(), IsUnloaded: true}, nil
}

func (s *Service) change(ctx context.Context, model string, do func(Repository, context.Context, string) error) error {
	if s.Repository == nil {
		return status.Error(codes.Unimplemented, "this server's models are fixed")
	}
	if _, err := spec(model, ""); err != nil {
		return err
	}
	return do(s.Repository, ctx, model)
}
