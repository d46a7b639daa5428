{{/* The name that all objects of a release begin with: the release, and the chart unless the release already names it. */}}
{{- define "pilotage.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels of every object; the component is the caller's to add. */}}
{{- define "pilotage.labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: pilotage
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The service account that the scheduler runs as, whoever creates it. */}}
{{- define "pilotage.scheduler.serviceAccountName" -}}
{{- default (printf "%s-scheduler" (include "pilotage.fullname" .)) .Values.scheduler.serviceAccount.name -}}
{{- end -}}
