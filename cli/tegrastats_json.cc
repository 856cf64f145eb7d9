#include "cli/tegrastats_json.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

Json load_json(const TegrastatsLine::Load& load) {
  if (load.off) return "off";
  Json json = Json::object();
  put(json, "percent", load.percent);
  put(json, "mhz", load.mhz);
  if (load.quality_unknown()) json["quality"] = "unknown";
  return json;
}

Json gpu_json(const TegrastatsLine::Gpu& gpu) {
  if (gpu.off) return "off";
  Json json = Json::object();
  put(json, "percent", gpu.percent);
  if (!gpu.mhz.empty()) json["mhz"] = gpu.mhz;
  if (gpu.quality_unknown()) json["quality"] = "unknown";
  return json;
}

Json core_json(const TegrastatsLine::Core& core) {
  if (core.off) return nullptr;
  Json json = Json::object();
  put(json, "percent", core.percent);
  put(json, "mhz", core.mhz);
  return json;
}

void put_memory(Json& json, const TegrastatsLine& line) {
  if (line.ram) {
    Json& ram = json["ram"];
    ram = {{"used_mb", line.ram->used_mb}, {"total_mb", line.ram->total_mb}};
    put(ram, "lfb_blocks", line.ram->lfb_blocks);
    put(ram, "lfb_block_kb", line.ram->lfb_block_kb);
  }
  if (line.swap) {
    Json& swap = json["swap"];
    swap = {{"used_mb", line.swap->used_mb}, {"total_mb", line.swap->total_mb}};
    put(swap, "cached_mb", line.swap->cached_mb);
  }
  if (line.iram) {
    Json& iram = json["iram"];
    iram = {{"used_kb", line.iram->used_kb}, {"total_kb", line.iram->total_kb}};
    put(iram, "lfb_kb", line.iram->lfb_kb);
  }
}

void put_zones(Json& json, const TegrastatsLine& line) {
  for (const TegrastatsLine::Zone& zone : line.zones) {
    if (zone.celsius) json["temperatures"][zone.name] = *zone.celsius;
  }
  for (const TegrastatsLine::Zone& zone : line.zones) {
    if (zone.max_celsius) json["temperatures_max"][zone.name] = *zone.max_celsius;
  }
}

}  // namespace

nlohmann::ordered_json tegrastats_json(const TegrastatsLine& line) {
  Json json = Json::object();
  if (!line.time.empty()) json["time"] = line.time;
  put_memory(json, line);
  for (const TegrastatsLine::Core& core : line.cores) json["cpu"].push_back(core_json(core));
  if (line.emc) json["emc"] = load_json(*line.emc);
  if (line.gr3d.present) json["gr3d"] = gpu_json(line.gr3d);
  if (line.gr3d2.present) json["gr3d2"] = gpu_json(line.gr3d2);
  for (const TegrastatsLine::Engine& engine : line.engines) {
    json["engines"][engine.name] = load_json(engine.load);
  }
  if (line.mts) {
    json["mts"] = {{"fg_percent", line.mts->fg_percent}, {"bg_percent", line.mts->bg_percent}};
  }
  put(json, "edp_limit_mhz", line.edp_limit_mhz);
  put_zones(json, line);
  for (const TegrastatsLine::Rail& rail : line.rails) {
    Json& item = json["rails"].emplace_back(Json{{"name", rail.name}, {"now_mw", rail.now_mw}});
    put(item, "avg_mw", rail.average_mw);
    put(item, "max_mw", rail.max_mw);
  }
  json["unknown"] = line.unknown;
  if (line.unknown_more > 0) json["unknown_more"] = line.unknown_more;
  if (line.unknown_cut > 0) json["unknown_cut"] = line.unknown_cut;
  if (line.beyond_bound > 0) json["beyond_bound"] = line.beyond_bound;
  return json;
}

std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace jetmem
