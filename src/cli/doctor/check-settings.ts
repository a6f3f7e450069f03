import packageJson from '../../../package.json' with { type: 'json' };
import type { Config } from '../../config/config.ts';
import { refuseLocalPublicUrl } from '../../config/server-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { configuredNetwork } from '../../payments/chains/networks.ts';
import { describeSandbox } from '../../mounts/guarded-command.ts';
import { isSandboxModel } from '../../providers/index.ts';
import { orOk, problem, warning, type Check, type Findings } from './finding.ts';

export const checkNode = async (): Promise<Findings> => {
  const { node } = process.versions;
  const wanted = packageJson.engines.node.replace(/\D/g, '');
  return orOk(
    Number.parseInt(node, 10) < Number(wanted) &&
      problem(
        `Node ${node} runs this, and the gateway needs ${wanted}.`,
        'Start it with "causeway", which brings its Node along, or install a newer one.',
      ),
    `Node ${node}.`,
  );
};

/** Checks settings against each other. Each one was checked when it was read. */
export const checkSettings: Check = (config) =>
  orOk(
    [
      unknownNames(config),
      addresses(config),
      sales(config),
      database(config),
      config.logLevel === 'silent' &&
        warning('LOG_LEVEL is silent, so nobody learns of failures.', 'Set LOG_LEVEL=info, or warn.'),
      mounts(config),
    ],
    'No setting is unknown, contradicts another one, or is insecure.',
  );

const unknownNames = ({ unknownVariables }: Config): Findings =>
  unknownVariables.map((name) =>
    warning(
      `${name} is set, and there is no such setting.`,
      'Correct its name (docs/configuration.md), or unset it.',
    ),
  );

const localHosts = ['127.0.0.1', 'localhost', '::1', '[::1]'];

const addresses = (config: Config): Findings => {
  const { host, publicUrl, trustedProxyHops } = config;
  const isOpen = !localHosts.includes(host);
  const url = publicUrl === null ? null : new URL(publicUrl);
  const isPublic = url !== null && !localHosts.includes(url.hostname);
  return [
    publicUrlRefusal(config),
    isOpen &&
      url === null &&
      warning(
        `HOST is ${host} without PUBLIC_URL, so URLs in answers name this machine as localhost.`,
        'Set PUBLIC_URL to the address that customers use.',
      ),
    isPublic &&
      url.protocol === 'http:' &&
      problem(
        `PUBLIC_URL begins with http:, so keys and results travel in clear.`,
        'Put a proxy with TLS in front, and let PUBLIC_URL begin with https: (docs/operators.md, "Behind a proxy").',
      ),
    isPublic &&
      !isOpen &&
      trustedProxyHops === 0 &&
      warning(
        'A proxy seems to be in front, and TRUSTED_PROXY_HOPS is 0, so all callers without a key share one limit.',
        'Set TRUSTED_PROXY_HOPS to the number of your proxies.',
      ),
    config.allowsLoopbackUrls &&
      (isOpen || isPublic) &&
      problem(
        'ALLOW_LOOPBACK_URLS is true, so customers can make the gateway call services of this machine.',
        'Unset ALLOW_LOOPBACK_URLS.',
      ),
  ];
};

const publicUrlRefusal = (config: Config): Findings => {
  try {
    refuseLocalPublicUrl(config);
    return false;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return problem(`${error.message}.`, 'Set PUBLIC_URL; the gateway does not start before.');
  }
};

const sales = ({ models, providers, publicUrl, x402 }: Config): Findings => {
  const made = models.filter((model) => isSandboxModel(model, providers)).map(({ sku }) => sku);
  const isForCustomers = made.length < models.length || x402.takesRealMoney || publicUrl !== null;
  const networks = (x402.isOn ? x402.networks : []).map((settings) => {
    const { isTest, label } = configuredNetwork(settings.network, settings.asset);
    return { ...settings, isTest, label };
  });
  const labels = (those: typeof networks): string => those.map(({ label }) => label).join(' and ');
  const test = networks.filter(({ isTest }) => isTest);
  const withoutWallet = networks.filter(({ payTo }) => payTo === null);
  const withoutNode = networks.filter(({ facilitator }) => facilitator.rpcUrl === null);
  return [
    made.length > 0 &&
      isForCustomers &&
      warning(
        `The sandbox serves ${made.join(', ')}: no real model answers.`,
        'Give these models routes to a provider in causeway.yaml, or leave them out of it.',
      ),
    test.length > 0 &&
      warning(
        `Calls without a key are paid on ${labels(test)}, with money of no value.`,
        'Name main networks in X402_NETWORKS when you want real money.',
      ),
    withoutWallet.length > 0 &&
      warning(
        `Payments on ${labels(withoutWallet)} go to wallets that the gateway generates into DATA_DIR.`,
        'Name your own wallets in X402_EVM_PAY_TO and X402_SOLANA_PAY_TO.',
      ),
    withoutNode.length > 0 &&
      warning(
        `Outcomes of payments on ${labels(withoutNode)} are asked of public nodes, which may refuse or know too little.`,
        'Name nodes of your own in X402_EVM_RPC_URL and X402_SOLANA_RPC_URL, or rpc_url in causeway.yaml.',
      ),
  ];
};

const database = ({ databaseUrl }: Config): Findings => {
  const url = databaseUrl === null ? null : new URL(databaseUrl);
  return (
    url !== null &&
    !['', ...localHosts].includes(url.hostname) &&
    !url.searchParams.has('sslmode') &&
    !url.searchParams.has('host') &&
    warning(
      'DATABASE_URL names another machine without sslmode, so the connection may not be encrypted.',
      'Add ?sslmode=verify-full, or leave it where the network is your own.',
    )
  );
};

const mounts = ({ mounts: all }: Config): Findings =>
  all.map((mount) => {
    const sentence = describeSandbox(mount);
    return [
      sentence !== null &&
        (mount.target.kind === 'stdio' && mount.target.sandbox !== null
          ? problem(sentence, 'Install what is named, or let its sandbox be none.')
          : warning(sentence, 'Let it have sandbox: bubblewrap, or trust it with all that the gateway has.')),
      mount.target.kind === 'stdio' &&
        isUnpinned(mount.target) &&
        warning(
          `The mounted MCP server ${mount.name} is loaded without a fixed version, so its code may change at any start.`,
          'Name a version, such as NAME@1.2.3. An accepted tool covers texts and schemas, not what a tool does.',
        ),
    ];
  });

/** Whether a program that loads packages is told no version of the first one. */
const isUnpinned = ({ command, args }: { command: string; args: readonly string[] }): boolean => {
  const named = args.find((arg) => !arg.startsWith('-'));
  return (
    /(?:^|\/)(?:npx|bunx|uvx|pipx|pnpm|yarn)$/.test(command) &&
    (named === undefined || !/.(?:@|==)\d/.test(named))
  );
};
