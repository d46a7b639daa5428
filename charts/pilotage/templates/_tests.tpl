{{/* What makes an object part of `helm test` alone: it comes before the pod that looks, and goes when that has ended. */}}
{{- define "pilotage.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Who looks. */}}
{{- define "pilotage.test.serviceAccountName" -}}
{{- default (printf "%s-test" (include "pilotage.fullname" .)) .Values.test.serviceAccountName -}}
{{- end -}}
