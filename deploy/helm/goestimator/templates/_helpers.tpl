{{- define "goestimator.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "goestimator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "goestimator.labels" -}}
{{ include "goestimator.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "goestimator.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "goestimator.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* What the server is started with. The image's entrypoint has it listen at all addresses. */}}
{{- define "goestimator.args" -}}
{{- $given := 0 }}
{{- if .Values.models }}{{ $given = add1 $given }}{{ end }}
{{- if .Values.modelRoot }}{{ $given = add1 $given }}{{ end }}
{{- if .Values.modelConfig }}{{ $given = add1 $given }}{{ end }}
{{- if ne (int $given) 1 }}{{ fail "expected one of models, modelRoot and modelConfig: say what is to be served" }}{{ end -}}
- serve
- --port=8500
- --rest-port=8501
{{- range $m := .Values.models }}
- {{ printf "--model=%s=%s" $m.name $m.path | quote }}
{{- with $m.traffic }}
- {{ printf "--traffic=%s=%s" $m.name . | quote }}
{{- end }}
{{- with $m.shadow }}
- {{ printf "--shadow=%s=%s" $m.name . | quote }}
{{- end }}
{{- end }}
{{- with .Values.modelRoot }}
- {{ printf "--model-root=%s" . | quote }}
{{- end }}
{{- if .Values.modelConfig }}
- --model-config-file=/config/models.config
- {{ printf "--model-config-file-poll-wait-seconds=%d" (int .Values.modelConfigPollSeconds) }}
{{- end }}
- --model-cache-dir=/cache
{{- if .Values.tls.secretName }}
- --tls-cert=/tls/tls.crt
- --tls-key=/tls/tls.key
{{- if .Values.tls.clientCA }}
- --tls-client-ca=/tls/ca.crt
{{- end }}
{{- else if .Values.tls.clientCA }}{{ fail "tls.clientCA without tls.secretName: expected the Secret with tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- if .Values.token.secretName }}
- {{ printf "--token-file=/token/%s" .Values.token.key | quote }}
{{- end }}
{{- if .Values.allowRemoteAdmin }}
- --allow-remote-admin
{{- end }}
{{- if .Values.batching.enabled }}
- --enable-batching
{{- if .Values.batching.parameters }}
- --batching-parameters-file=/config/batching.config
{{- end }}
{{- end }}
{{- if .Values.accessLog }}
- --access-log
{{- end }}
{{- if .Values.maxMemoryBytes }}
- {{ printf "--max-memory-bytes=%d" (int64 .Values.maxMemoryBytes) }}
{{- end }}
{{- if .Values.maxRequestBytes }}
- {{ printf "--max-request-bytes=%d" (int64 .Values.maxRequestBytes) }}
{{- end }}
- {{ printf "--drain-seconds=%d" (int .Values.drainSeconds) }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* A probe of a path. Where clients show certificates the kubelet has none: it tries the port alone. */}}
{{- define "goestimator.probe" -}}
{{- if .root.Values.tls.clientCA -}}
tcpSocket:
  port: rest
{{- else -}}
httpGet:
  path: {{ .path }}
  port: rest
  {{- if .root.Values.tls.secretName }}
  scheme: HTTPS
  {{- end }}
{{- end }}
{{- end }}

{{- define "goestimator.hasConfig" -}}
{{- if or .Values.modelConfig (and .Values.batching.enabled .Values.batching.parameters) }}yes{{ end }}
{{- end }}
