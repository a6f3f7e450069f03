/** One offer of the terms of x402 v2. `amount`: in the token's smallest unit. */
export interface Offer {
  scheme: string;
  /** CAIP-2. */
  network: string;
  asset: string;
  amount: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Readonly<Record<string, unknown>>;
}

export interface Terms {
  resource: object;
  accepts: readonly Offer[];
}

/** Names the networks of the gateway for people, by their CAIP-2 names, as the page has them. */
export const readNetworks = (): Readonly<Record<string, string>> => {
  const { networks = '{}' } = document.querySelector<HTMLElement>('#console')?.dataset ?? {};
  return JSON.parse(networks) as Record<string, string>;
};

/** An offer that a wallet of a browser can pay: one transfer of just this amount, without a transaction before it. */
export const isPayable = ({ scheme, network, extra }: Offer): boolean =>
  scheme === 'exact' &&
  (network.startsWith('solana:') ||
    (network.startsWith('eip155:') &&
      extra['assetTransferMethod'] === undefined &&
      typeof extra['name'] === 'string'));

/** Reads a header such as PAYMENT-REQUIRED; null without one. */
export const readHeader = (header: string | null): unknown =>
  header === null ? null : JSON.parse(new TextDecoder().decode(fromBase64(header)));

/** Writes the header PAYMENT-SIGNATURE. */
export const writeProof = ({ resource }: Terms, accepted: Offer, payload: object): string =>
  toBase64Json({ x402Version: 2, resource, accepted, payload });

export const toBase64Json = (value: object): string =>
  toBase64(new TextEncoder().encode(JSON.stringify(value)));

export const toBase64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
