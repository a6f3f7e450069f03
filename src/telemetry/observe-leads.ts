import { AppError } from '../kit/errors.ts';
import type { Leads } from '../leads/lead-source.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { Tracing } from './tracing.ts';

/** Watches searches for profiles. */
export const observeLeads = (
  leads: Leads,
  { tracing, metering }: { tracing: Tracing; metering: Metering },
): Leads => ({
  ...leads,
  search: async (query, options) => {
    const startedAt = performance.now();
    const span = tracing.start('search leads', {});
    const end = (errorType?: string): void => {
      span.end(errorType);
      metering.record(
        'searches',
        (performance.now() - startedAt) / 1_000,
        errorType === undefined ? {} : { [name.errorType]: errorType },
      );
    };
    try {
      const found = await tracing.run(span.context, () => leads.search(query, options));
      end();
      return found;
    } catch (error) {
      end(error instanceof AppError ? error.code : options.signal.aborted ? 'canceled' : 'server_error');
      throw error;
    }
  },
});
