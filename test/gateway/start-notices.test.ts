import { expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { startNotices } from '../../src/gateway/start-notices.ts';

const notices = (environment: Record<string, string>): string =>
  startNotices(readConfig(environment, null), {
    wallets: { notice: null },
    leads: { status: () => ({ ready: true, profiles: 1, synthetic: false, revision: '' }) },
    realSales: { hasBegun: () => false, refresh: async () => {} },
    telemetry: null,
  }).join('\n');

it('a gateway on a shared database says at its start that its media are in a folder of its own', () => {
  const shared = { DATABASE_URL: 'postgres://localhost/causeway' };
  const told = 'several need MEDIA_DIR or MEDIA_URL';
  expect(notices(shared)).toContain(told);
  expect(notices({ ...shared, MEDIA_DIR: '/srv/media' })).not.toContain(told);
  expect(notices({})).not.toContain(told);
});
