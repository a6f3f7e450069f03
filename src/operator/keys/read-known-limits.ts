import { readLimits, type WrittenLimits } from '../../operations/keys/read-limits.ts';
import type { LimitChanges } from '../../store/store.ts';
import type { OperatorServices } from '../operator-operation.ts';

/** Reads limits as an operator writes them. The settings of the gateway are read only for those that need them. */
export const readKnownLimits = async (
  written: WrittenLimits,
  { clock, config }: Pick<OperatorServices, 'clock' | 'config'>,
): Promise<LimitChanges> => {
  const isPlain = (written.models ?? null) === null && (written.alert_url ?? null) === null;
  const { models, allowsLoopbackUrls } = isPlain ? { models: [], allowsLoopbackUrls: false } : await config();
  return readLimits(written, {
    skus: models.map(({ sku }) => sku),
    allowsLoopback: allowsLoopbackUrls,
    now: clock.now(),
  });
};
