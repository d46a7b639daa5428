{{/* The annotations of objects that exist only during `helm test`: created before the verifying pod, deleted after it. */}}
{{- define "pilotage.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* The service account of the verifying pod. */}}
{{- define "pilotage.test.serviceAccountName" -}}
{{- default (printf "%s-test" (include "pilotage.fullname" .)) .Values.test.serviceAccountName -}}
{{- end -}}
