import { ProviderError } from '../provider-error.ts';

/** Codes of failures to connect: nothing of the request was sent. */
const neverConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** What a connection that never came to be, or broke before the headers, means to the router. */
export const toConnectFailure = (error: unknown): ProviderError => {
  const code = readText(error, 'code');
  if (neverConnected.has(code) || readText(error, 'syscall') === 'connect' || isHandshakeReset(error))
    return new ProviderError(`the upstream cannot be reached (${code})`, {
      failure: 'retry_same',
      code: 'upstream_unavailable',
      cause: error,
    });
  if (isCertificateFailure(code))
    return new ProviderError(`the upstream's TLS is not to be trusted (${code})`, {
      failure: 'retry_other',
      code: 'upstream_unavailable',
      cause: error,
    });
  return new ProviderError(`the upstream connection broke before an answer (${code})`, {
    failure: 'ambiguous',
    code: 'upstream_error',
    cause: error,
  });
};

const isHandshakeReset = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('before secure TLS connection was established');

const isCertificateFailure = (code: string): boolean =>
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO_)|SELF_SIGNED/.test(code);

const readText = (error: unknown, name: 'code' | 'syscall'): string => {
  if (!(error instanceof Error)) return '';
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : '';
};
