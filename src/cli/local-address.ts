import type { Config } from '../config/config.ts';

const any: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** Returns the address at which a gateway with these settings answers on this machine. */
export const localAddress = ({ host, port }: Pick<Config, 'host' | 'port'>): string =>
  `http://${any[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
