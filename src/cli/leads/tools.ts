import type { LeadTools } from './session.ts';

/** The engines and the readers of files, of which only those are loaded that a command uses. */
export const leadTools: LeadTools = {
  openKeeper: async (place) => {
    if (place.kind === 'postgres') {
      const { openPostgresKeeper } = await import('../../leads/postgres/open-postgres-keeper.ts');
      return openPostgresKeeper({ url: place.url });
    }
    const { openEmbeddedKeeper } = await import('../../leads/embedded/open-embedded-keeper.ts');
    return openEmbeddedKeeper({ folder: place.folder });
  },
  countForgotten: async (folder) => {
    const { countForgotten } = await import('../../leads/embedded/count-forgotten.ts');
    return countForgotten(folder);
  },
  openInput: async (options) => {
    const { openLeadInput } = await import('../../leads/import/open-lead-input.ts');
    return openLeadInput(options);
  },
};
