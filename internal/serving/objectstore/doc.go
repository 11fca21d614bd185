// Package objectstore lets models be served from buckets of S3, Google Cloud Storage and Azure Blob Storage. It copies the versions that are
// to be served into a folder of this machine, from which the server loads them as any others.
package objectstore
