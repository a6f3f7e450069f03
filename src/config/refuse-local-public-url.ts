import { classifyLiteral } from '../http/check-url.ts';
import { ConfigError } from '../kit/errors.ts';
import type { Config } from './config.ts';

/** Buyers sign this address for real money, so it must not be an address of their own machine. Throws ConfigError. */
export const refuseLocalPublicUrl = ({
  publicUrl,
  search,
  x402,
}: Pick<Config, 'publicUrl' | 'search' | 'x402'>): void => {
  if (!search.isOn || !x402.takesRealMoney) return;
  const why = 'set the address that buyers use, as X402_NETWORKS names main networks';
  if (publicUrl === null) throw new ConfigError(`PUBLIC_URL: is not set; ${why}`);
  const host = new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1');
  if (classifyLiteral(host) === 'loopback' || host === '0.0.0.0' || host === '::')
    throw new ConfigError(`PUBLIC_URL: ${publicUrl} is an address of this machine alone; ${why}`);
};
