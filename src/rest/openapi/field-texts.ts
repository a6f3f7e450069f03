const multiplies = 'Multiplies output, which is not served: leave it out, or 1.';
const bestEffort = 'Best-effort: handed to the model, which may not heed it.';
const stays = 'Taken, and never handed to a model.';
const sampling = 'Sampling; best-effort.';

/** What fields mean whose schemas say nothing of it: a model knows them, or is told less, to spare its context. */
const fieldTexts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  search_leads: {
    gender: 'Predicted from the profile.',
    min_followers: 'At least as many followers, inclusive.',
    max_followers: 'At most as many followers, inclusive; not below min_followers.',
  },
  list_jobs: { limit: 'How many items a page has.' },
  list_transactions: { limit: 'How many items a page has.' },
  create_chat_completion: {
    stream: 'true answers server-sent events.',
    conversation_id: 'Echoed in the body and, up to 4,096 bytes, in X-Conversation-Id.',
    max_tokens: 'The output limit, which the price is held up to; or max_completion_tokens, not both.',
    n: multiplies,
    best_of: multiplies,
    candidate_count: multiplies,
    num_return_sequences: multiplies,
    tools: 'Function tools only.',
    tool_choice: '`auto`, `required`, `none`, or a named function.',
    temperature: sampling,
    top_p: sampling,
    presence_penalty: sampling,
    frequency_penalty: sampling,
    stop: bestEffort,
    logit_bias: bestEffort,
    seed: bestEffort,
    top_logprobs: bestEffort,
    logprobs: bestEffort,
    parallel_tool_calls: bestEffort,
    store: stays,
    response_format: '`text`, `json_object` or `json_schema`; best-effort.',
    stream_options: 'Every stream ends with the usage, whatever it says.',
    metadata: stays,
    moderation: bestEffort,
    prediction: bestEffort,
    audio: bestEffort,
    web_search_options: bestEffort,
    prompt_cache_options: bestEffort,
    extra_body: bestEffort,
    reasoning_effort: bestEffort,
    service_tier: bestEffort,
    verbosity: bestEffort,
    prompt_cache_retention: bestEffort,
    user: stays,
    safety_identifier: stays,
    prompt_cache_key: stays,
    function_call: 'Legacy form of tool_choice.',
    functions: 'Legacy form of tools.',
    modalities: bestEffort,
    webhook_url: 'Not accepted: chat sends no callbacks.',
    custom_data: 'Not accepted.',
  },
  create_response: {
    instructions: 'Said to the model before the input.',
    parallel_tool_calls: 'Default true.',
    temperature: sampling,
    top_p: sampling,
    stream: 'true answers named server-sent events.',
  },
  create_image: { n: 'Leave it out, or 1.', stream: 'Leave it out, or false.' },
  create_video: {
    last_frame_image_url: 'Last frame.',
    reference_image_urls: 'Style or identity images, no frames; at most 16 of all.',
    seed: 'For results that are alike.',
    ratio: 'Default adaptive where there is an image or a video to adapt to, else 16:9. An edit is adaptive.',
    nsfw_check: 'true gives prompts and images another moderation pass. Default false.',
    return_last_frame: 'true keeps the last frame as an image beside the video. Default false.',
    webhook_url: 'Not accepted: poll the video.',
  },
  get_video: { video_id: 'Of the video (UUID).' },
  get_video_content: { video_id: 'Of the video (UUID).' },
};

/** What a field means, where its schema does not say it. */
export const fieldText = (operation: string, field: string): string | undefined =>
  fieldTexts[operation]?.[field];
