package service

import "context"

// Token is a job token, as credentials for every call.
type Token string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t Token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: a token without TLS is allowed, as between this project's own tasks.
func (Token) RequireTransportSecurity() bool { return false }
