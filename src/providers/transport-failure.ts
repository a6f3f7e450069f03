import { OutboundError } from '../http/outbound.ts';
import { ProviderError } from './provider-error.ts';

/** Maps a failure of the HTTP client to what the router may do about it. Returns any other error as it is. */
export const toTransportFailure = (error: unknown): unknown => {
  if (!(error instanceof OutboundError)) return error;
  const message = `the upstream did not answer: ${error.message}`;
  const isBadCertificate = error.failure === 'bad_certificate';
  // The request may have been carried out.
  if (error.failure !== 'unreachable' && !isBadCertificate)
    return new ProviderError(message, { failure: 'ambiguous', cause: error });
  return new ProviderError(message, {
    failure: isBadCertificate || isTlsFault(error.cause) ? 'retry_other' : 'retry_same',
    code: 'upstream_unavailable',
    cause: error,
  });
};

/** The other side speaks no TLS, or not ours, and will not the next time either. */
const isTlsFault = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && /^ERR_(?:SSL|TLS)/.test(String(cause.code));
