{{/* Names, labels and images that several templates need. */}}

{{- define "sailor.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "sailor.leaseName" -}}
{{ include "sailor.fullname" . }}-operator
{{- end }}

{{/* The alerts of files/alerts.yaml, which look for the leader of a release with the name sailor. */}}
{{- define "sailor.alerts" -}}
{{ .Files.Get "files/alerts.yaml" | replace "\"sailor-operator\"" (include "sailor.leaseName" . | quote) }}
{{- end }}

{{- define "sailor.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "sailor.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "sailor.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "sailor.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "sailor.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sailor
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An image reference: (list . .Values.image) */}}
{{- define "sailor.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Fails with a message unless the cluster serves an API: (list . "group/version" "the value that needs it") */}}
{{- define "sailor.requireApi" -}}
{{- $root := index . 0 }}{{ $api := index . 1 }}
{{- if not ($root.Capabilities.APIVersions.Has $api) }}
{{- fail (printf "%s is set, but this cluster does not serve %s: install what serves it first, or unset the value (for `helm template` add --api-versions %s)" (index . 2) $api $api) }}
{{- end }}
{{- end }}

{{/* The newest version of Kueue's API that the operator knows and the cluster serves. */}}
{{- define "sailor.kueueVersion" -}}
{{- ternary "v1beta2" "v1beta1" (.Capabilities.APIVersions.Has "kueue.x-k8s.io/v1beta2") -}}
{{- end }}
