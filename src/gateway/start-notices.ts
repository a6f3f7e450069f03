import type { RealSales } from '../accounts/catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import type { LeadStatus } from '../leads/lead-source.ts';
import type { Services } from '../operations/call.ts';
import { describeSandbox } from '../mounts/guarded-command.ts';
import { isSandboxModel } from '../providers/index.ts';
import { searchState } from './readiness.ts';
import { telemetryNotices, type Telemetry } from '../telemetry/telemetry.ts';

const searchNotices = (config: Config, leads: LeadStatus): string[] => {
  switch (searchState(config, leads)) {
    case 'off':
      return ['The search is switched off: X402_NETWORKS or LEADS_SOURCES is none.'];
    case 'not_on_sale':
      return [
        'The search is not on sale: only fictional profiles are there, and X402_NETWORKS names main networks. ' +
          'Import profiles (leads import) or name another source (LEADS_SOURCES).',
      ];
    case 'empty':
      return ['There are no profiles to search: every search finds nobody, and costs nothing.'];
    case 'building':
    case 'ready':
      return [
        ...(leads.synthetic ? ['Searches run over a generated, fictional data set.'] : []),
        ...(config.search.costsMoney && !config.search.chargeEmpty
          ? [
              'A search that finds nobody is free, although its source may cost you money: SEARCH_CHARGE_EMPTY=true ' +
                'charges it, and counts: free in leads.http says that the source costs nothing.',
            ]
          : []),
      ];
  }
};

interface StartState {
  wallets: { notice: string | null };
  leads: { status(): LeadStatus };
  realSales: RealSales;
  telemetry: Telemetry | null;
}

/** Returns lines that the operator should read at start. */
export const startNotices = (
  config: Config,
  { wallets, leads, realSales, telemetry }: StartState,
): string[] => {
  const isSandbox = config.models.some((model) => isSandboxModel(model, config.providers));
  const isPublic = !['127.0.0.1', 'localhost', '::1'].includes(config.host);
  const networks = config.x402.isOn ? config.x402.networks : [];
  const remote = networks.flatMap(({ facilitator }) =>
    facilitator.kind === 'remote' ? facilitator.endpoints.map(({ url }) => url) : [],
  );
  return [
    ...config.unknownVariables.map(
      (name) => `${name} is set, but there is no such setting (docs/configuration.md).`,
    ),
    ...(isSandbox
      ? [
          `Models without a configured provider are served by the sandbox: no real model answers.${realSales.hasBegun() ? ' They are for sandbox accounts only (accounts create --sandbox).' : ''}`,
        ]
      : []),
    ...(isPublic && config.publicUrl === null
      ? ['PUBLIC_URL is not set: result URLs and payment terms name this machine as localhost.']
      : []),
    ...(config.databaseUrl !== null && config.mediaDir === null && config.s3 === null
      ? [
          'Media are in DATA_DIR, and no other gateway on this database serves or removes them: several need MEDIA_DIR or MEDIA_URL.',
        ]
      : []),
    ...searchNotices(config, leads.status()),
    ...(wallets.notice === null ? [] : [wallets.notice]),
    ...[...new Set(remote)].map((url) => `Payments are verified and settled by the facilitator at ${url}.`),
    ...networks
      .filter(({ facilitator }) => facilitator.kind === 'remote' && facilitator.rpcUrl === null)
      .map(
        ({ network }) =>
          `What becomes of payments on ${network} is asked of a public node: set a node of your own (rpc_url).`,
      ),
    ...config.mounts.flatMap((mount) => describeSandbox(mount) ?? []),
    ...telemetryNotices(config.telemetry, telemetry),
  ];
};

/** True if every SKU is served by the sandbox. */
export const isSandboxOnly = ({ models, providers }: Config): boolean =>
  models.every((model) => isSandboxModel(model, providers));

/** Returns notices about accounts, one line each, for the operator. */
export const accountNotices = async ({
  store,
  config,
}: Pick<Services, 'store'> & { config: Config }): Promise<string[]> => {
  if (isSandboxOnly(config)) return [];
  let page = await store.listAccounts({ limit: accountsAtOnce });
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    if (page.some(({ isSandbox }) => !isSandbox)) return [];
    page = await store.listAccounts({ limit: accountsAtOnce, afterId: last.id });
  }
  return [
    'There is no account yet that can buy real models: causeway accounts create --name NAME --approved, then keys issue and credit.',
  ];
};

const accountsAtOnce = 100;
