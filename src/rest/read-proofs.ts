import type { IncomingMessage } from 'node:http';
import type { Proofs } from '../payments/sale/gate.ts';

/** True if an `Authorization` header has a payment (MPP) in place of a key. */
export const isPayment = (authorization: string | undefined): boolean =>
  /^Payment /i.test(authorization ?? '');

/** Reads the payment headers of a request for something that is sold. */
export const readProofs = (
  { headers, method }: IncomingMessage,
  { speaksMpp }: { speaksMpp: boolean },
): Proofs => {
  const mpp = speaksMpp ? readMpp(headers) : undefined;
  // HEAD asks for the headers of GET, and buys nothing.
  if (method === 'HEAD') return mpp === undefined ? {} : { mpp: { ...mpp, credential: null } };
  return {
    paymentSignature: headers['payment-signature']?.toString(),
    xPayment: headers['x-payment']?.toString(),
    ...(mpp === undefined ? {} : { mpp }),
  };
};

const readMpp = ({
  authorization,
  'payment-authorization': separate,
}: IncomingMessage['headers']): NonNullable<Proofs['mpp']> =>
  separate === undefined && (authorization === undefined || isPayment(authorization))
    ? { credential: authorization ?? null, field: 'Authorization' }
    : { credential: separate?.toString() ?? null, field: 'Payment-Authorization' };
