package inference

import (
	"context"

	grpcmetadata "google.golang.org/grpc/metadata"
)

// RoutingKey is a header of HTTP and a key of gRPC's metadata. Where a model's traffic is divided, requests with the same routing key
// that name no version get the same one.
const RoutingKey = "X-Routing-Key"

type keyOf struct{}

// WithRoutingKey returns ctx with the routing key of its request.
func WithRoutingKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// routingKey returns the routing key of a request, "" if it has none.
func routingKey(ctx context.Context) string {
	if key, ok := ctx.Value(keyOf{}).(string); ok {
		return key
	}
	if values := grpcmetadata.ValueFromIncomingContext(ctx, RoutingKey); len(values) > 0 {
		return values[0]
	}
	return ""
}
